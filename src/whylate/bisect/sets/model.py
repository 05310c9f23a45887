"""What bisections of sets of differences have in common: the plan, and the record of each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec

from whylate.recording.bounds import Count
from whylate.study.model import StudyPlan, Variant


@dataclass(frozen=True)
class Item:
    """What a hybrid has of either side. key: in the journal. None: the side leaves it as it is."""

    key: str
    name: str
    first: str | None
    second: str | None


@dataclass(frozen=True)
class Nouns:
    """How the items of a bisection, and what they make a hybrid of, are called.

    verb: the command. absent: a side that has none of an item. unit: a key for the JSON of an item.
    this, these: how sentences on what makes the difference begin. none, none_set: the sentence that
    nothing does, and that nothing of what could be set apart does.
    """

    verb: str
    singular: str
    plural: str
    absent: str
    unit: str
    this: str
    these: str
    none: str
    none_set: str


class SetsPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of every plan.

    study: boards, workload, one set of loads, and the two sides as variants. statistic: by which
    runs are compared. margin: how far from a side still behaves like it, as a part of the gap.
    runs: at most so many, of both sides and of hybrids.
    """

    study: StudyPlan
    statistic: str
    margin: float
    runs: Count

    @property
    def first(self) -> Variant:
        """The side on which hybrids are built."""
        return self.study.variants[0]

    @property
    def second(self) -> Variant:
        """The side whose values hybrids take."""
        return self.study.variants[1]


@dataclass(frozen=True)
class Sets:
    """A bisection as it is shown: its plan, its items, and how they are called."""

    plan: SetsPlan
    items: tuple[Item, ...]
    nouns: Nouns


class MadeRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A line of runs.jsonl: a run of a side or of a hybrid.

    number: from 1. planned: the items that were to be as on the second side; in_force: those that
    were. Knobs, or numbers of differences, where 3-9 are all from 3 to 9. base: the side that it is
    built on. purpose, target, opened: what the search asked for (whylate.stats.search). value: the
    statistic as it is compared, None: untestable, for the reason given. unit: of the statistic
    itself. log: of the console of an untestable run, below the directory.
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
    log: str = ""
    started: str
    took_s: float
