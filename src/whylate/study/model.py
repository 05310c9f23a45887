"""What a study is asked for, and what is kept of each of its runs."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.recording.plan import LoadPlan
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.run.knobs.commands import CommandKnob

SCHEMA_VERSION = 2


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set of knobs with a name. The first one of a study is what the others are compared with."""

    name: str
    knobs: dict[str, str] = {}


class Factor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A knob with two settings, of a study of several knobs at once."""

    knob: str
    settings: tuple[str, str]


class LoadSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Loads that act together; none at all is one too."""

    name: str
    loads: list[LoadPlan]


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a comparison is over.

    looks: after so many rounds it is looked at, by group-sequential levels; the last one ends it.
    anytime: it is looked at after every round by an e-process; looks then has the most rounds.
    """

    kind: Literal["looks", "anytime", "runs"]
    looks: list[int]


class StudyPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """study.json."""

    format: Literal["whylate-study"] = "whylate-study"
    schema_version: int = SCHEMA_VERSION
    boards: list[str]
    variants: list[Variant]
    loads: list[LoadSet]
    stop: Stop
    #: What each run measures, before the knobs of its variant.
    workload: Workload
    cpus: list[int] | None = None
    #: Those of the user's own, by name.
    knobs: dict[str, CommandKnob] = {}
    #: Files for the cards of boards, by the name that a knob gives, and what they hold.
    image_sha256: dict[str, str] = {}
    #: Knobs whose every combination is a variant; none where variants were named.
    factors: list[Factor] = []
    #: Factors above 1 within which two variants are the same, by statistic.
    margins: dict[str, float] = {}
    #: Of virtual boards.
    virtual_time: bool = False
    smp: int | None = None
    #: The order of the runs comes from it.
    seed: int = 1
    #: So long each board runs before its first run, and nothing of it is kept; 0: not at all.
    warm_up_ns: int = 0
    #: No run begins after so long; None: none is kept from it.
    budget_ns: int | None = None

    @property
    def benchmark(self) -> BenchmarkWorkload | None:
        """The workload, if its samples are repetitions."""
        return self.workload if isinstance(self.workload, BenchmarkWorkload) else None


class FinishedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of runs.jsonl: what became of a run. Failed ones are made again."""

    board: str
    load: str
    variant: str
    round: int
    #: Below the study's directory; "" where there is no recording.
    recording: str
    started: str
    took_s: float
    #: Why it failed; "" where it did not.
    failed: str = ""


class PlannedRun(msgspec.Struct, frozen=True):
    """A run that is to be made."""

    board: str
    load: str
    variant: str
    round: int
