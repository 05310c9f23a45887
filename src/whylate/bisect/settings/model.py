"""The plan of a bisection of settings, and the record of each of its runs."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.recording.bounds import Count, Small
from whylate.study.model import StudyPlan, Variant

SCHEMA_VERSION = 1


class Item(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A knob in which the two variants differ. None: the variant leaves it as it is found."""

    knob: str
    first: str | None
    second: str | None


class BisectPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """bisect.json.

    study: boards, workload, one set of loads, and the two variants. statistic: by which runs are
    compared. margin: how far from a variant still behaves like it, as a part of the gap. runs: at
    most so many, of both variants and of hybrids.
    """

    format: Literal["whylate-bisect"] = "whylate-bisect"
    schema_version: Small = SCHEMA_VERSION
    study: StudyPlan
    statistic: str
    margin: float
    runs: Count

    @property
    def items(self) -> list[Item]:
        """The knobs in which the variants differ, in the order of the plan."""
        first, second = (variant.knobs for variant in self.study.variants)
        return [
            Item(knob, first.get(knob), second.get(knob))
            for knob in {**first, **second}
            if first.get(knob) != second.get(knob)
        ]

    @property
    def first(self) -> Variant:
        """The variant on which hybrids are built."""
        return self.study.variants[0]

    @property
    def second(self) -> Variant:
        """The variant whose settings hybrids take."""
        return self.study.variants[1]


class MadeRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of runs.jsonl: a run of a variant or of a hybrid.

    number: from 1. planned: the knobs that were to have the second variant's value; in_force: those
    that had it. base: the variant that it is built on. purpose, target, opened: what the search
    asked for (whylate.stats.search). value: the statistic as it is compared, None: untestable, for
    the reason given. unit: of the statistic itself.
    """

    number: Count
    board: str
    planned: list[str]
    in_force: list[str]
    base: Literal["first", "second"]
    purpose: str
    target: list[Count]
    opened: list[tuple[Count, Count]]
    value: float | None
    unit: str = "ns"
    untestable: str = ""
    recording: str = ""
    started: str
    took_s: float
