"""The plan of a study, and the record of each of its runs."""

from __future__ import annotations

from typing import Literal

import msgspec

from whylate.compare.hits import HitDemand
from whylate.recording.bounds import Count, Cpu, Integer, Small, TimeNs
from whylate.recording.plan import LoadPlan, RunPlan
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.run.knobs.commands import CommandKnob

SCHEMA_VERSION = 2


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A named set of knobs. The others are compared with the first variant of a study."""

    name: str
    knobs: dict[str, str] = {}


class Factor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A knob with two settings, in a study of several knobs at once."""

    knob: str
    settings: tuple[str, str]


class LoadSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Loads that act together, or none."""

    name: str
    loads: list[LoadPlan]


class Stop(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The stopping rule of each comparison.

    looks: the numbers of rounds after which group-sequential levels apply; the last one ends it.
    anytime: an e-process after every round; looks has the most rounds. runs: one look.
    """

    kind: Literal["looks", "anytime", "runs"]
    looks: list[Count]


class StudyPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """study.json.

    workload: what each run measures, before the knobs of its variant.
    knobs: command knobs by name. image_sha256: the content of each file that a knob names.
    factors: knobs whose every combination is a variant; none if variants were named.
    hits: functions, tracepoints and lines of the facts, and which variants must have them.
    margins: ratios above 1 within which two variants are the same, by statistic.
    smp: of virtual boards. seed: of the order of the runs.
    warm_up_ns: how long each board runs before its first run, without a recording; 0: not at all.
    budget_ns: no run begins after so long; None: no limit.
    """

    format: Literal["whylate-study"] = "whylate-study"
    schema_version: Small = SCHEMA_VERSION
    boards: list[str]
    variants: list[Variant]
    loads: list[LoadSet]
    stop: Stop
    workload: Workload
    cpus: list[Cpu] | None = None
    knobs: dict[str, CommandKnob] = {}
    image_sha256: dict[str, str] = {}
    factors: list[Factor] = []
    margins: dict[str, float] = {}
    hits: list[HitDemand] = []
    virtual_time: bool = False
    smp: Small | None = None
    seed: Integer = 1
    warm_up_ns: TimeNs = 0
    budget_ns: TimeNs | None = None

    @property
    def benchmark(self) -> BenchmarkWorkload | None:
        """The workload, if its samples are repetitions."""
        return self.workload if isinstance(self.workload, BenchmarkWorkload) else None

    @property
    def request(self) -> RunPlan:
        """What each run asks for, before its knobs and loads."""
        return RunPlan(
            workload=self.workload,
            cpus=self.cpus,
            virtual_time=self.virtual_time,
            hits=[demand.name for demand in self.hits],
        )


class FinishedRun(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A line of runs.jsonl. A run that failed is made again.

    recording: below the study's directory, of a run that failed apart from the others; "" if there
    is none. failed: the reason; "" for success.
    """

    board: str
    load: str
    variant: str
    round: Count
    recording: str
    started: str
    took_s: float
    failed: str = ""


class PlannedRun(msgspec.Struct, frozen=True):
    """A run that is to be made."""

    board: str
    load: str
    variant: str
    round: int
