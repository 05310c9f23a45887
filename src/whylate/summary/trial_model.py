"""The summary of a recording that has trials: what the terminal, the JSON and the page print."""

from __future__ import annotations

import msgspec

from whylate.recording.manifest import LoadReport
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.summary.model import Caution, Trust

#: What was counted or read at a point.
Fact = int | float | str | bool | None


class Measured(msgspec.Struct, frozen=True):
    """The median over rounds of the medians of their repetitions, with an interval of 95 %.

    The interval is of this run. low and high are None where the rounds are too few for one.
    """

    value: float
    low: float | None = None
    high: float | None = None


class PointFigures(msgspec.Struct, frozen=True):
    """A point and what was measured there.

    figures: by a key that names the unit. facts: what was counted or read, likewise. refused: why
    there is no figure. note: what the figure is, where its name alone would mislead.
    """

    name: str
    point: BenchmarkPoint
    rounds: int
    repetitions: int
    figures: dict[str, Measured] = {}
    facts: dict[str, Fact] = {}
    #: Of each counter, what it counted in a repetition.
    counts: dict[str, Measured] = {}
    refused: str | None = None
    note: str = ""


class Prediction(msgspec.Struct, frozen=True):
    """What a model says that was not measured."""

    threads: int
    calls_per_us: Measured


class NetworkFigures(msgspec.Struct, frozen=True):
    """What all readers of a clock share, by the closed network that fits their throughputs.

    All are medians over rounds of what was fitted to each. threads: those that it was fitted to.
    misfit: how far the worst of these lies from it, as a factor; None: two are always fitted. off:
    the same of those that were measured beyond; None: none were.
    """

    name: str
    threads: list[int]
    think_ns: Measured
    service_ns: Measured
    predicted: list[Prediction]
    misfit: float | None = None
    off: float | None = None


class Finding(msgspec.Struct, frozen=True):
    """Something that the figures show by themselves."""

    code: str
    text: str


class TrialsSummary(msgspec.Struct, frozen=True):
    """Everything that is printed of a recording that has trials."""

    recording: str
    board: str
    state: str
    created: str
    kernel: str | None
    cpu_model: str | None
    workload: str
    #: What all points have in common.
    common: str
    rounds: int
    repetitions: int
    trust: Trust
    points: list[PointFigures]
    networks: list[NetworkFigures]
    findings: list[Finding]
    loads: list[LoadReport]
    warnings: list[Caution]
    interval_note: str
    #: The kernel's own.
    clock_source: str | None = None
    virtual_time: bool = False
