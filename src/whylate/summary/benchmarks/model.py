"""The summary of a benchmark: what the terminal, the JSON and the page print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypedDict

import msgspec

from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.point_names import series_names
from whylate.summary.model import Caution, RecordingSummary
from whylate.summary.off import OffFigures

#: What was counted or read at a point.
Fact = int | float | str | bool | None


class Measured(msgspec.Struct, frozen=True):
    """The median over rounds of the medians of their repetitions, with a 95 % interval.

    The interval is conditional on this run. low and high are None with too few rounds.
    """

    value: float
    low: float | None = None
    high: float | None = None


class Figure(Measured, frozen=True, kw_only=True):
    """A measured value and how it is shown and compared.

    heading: of its column; "": in no table. quantity: what it measures: figures of one name are
    compared only where this is the same. compared_as: the name under which it is compared beside
    the main figure, the first of its point; None: it is not.
    """

    key: str
    heading: str = ""
    unit: str = ""
    higher_is_better: bool = False
    quantity: str = ""
    compared_as: str | None = None


class Place(msgspec.Struct, frozen=True):
    """Where a point lies on the x axis of a sweep.

    field: of the point. label: of the axis. text: of the tick.
    """

    field: str
    label: str
    value: float
    text: str


class PointFigures(msgspec.Struct, frozen=True):
    """A point and what was measured there.

    figures, facts: by keys that name the unit. texts: facts in words, by the headings of their
    columns. plots: what is drawn over `place`, by caption. counts: of each counter, per unit of
    work. refused: why there is no figure. note: what the figure is, where its name misleads.
    """

    name: str
    point: BenchmarkPoint
    rounds: int
    repetitions: int
    figures: dict[str, Figure] = {}
    facts: dict[str, Fact] = {}
    texts: dict[str, str] = {}
    plots: dict[str, Measured] = {}
    counts: dict[str, Measured] = {}
    refused: str | None = None
    note: str = ""
    place: Place | None = None

    @property
    def main_figure(self) -> Figure | None:
        """The figure by which the point is compared; None where it was refused."""
        return next(iter(self.figures.values()), None)


class Prediction(msgspec.Struct, frozen=True):
    """What a model predicts of a number of threads that was not measured."""

    threads: int
    calls_per_us: Measured
    is_prediction: Literal[True] = True


class NetworkFigures(msgspec.Struct, frozen=True):
    """A closed network of one shared server, fitted to how throughput grows with threads.

    All are medians over rounds of what was fitted to each. threads: those that it was fitted to.
    misfit: the worst ratio between these and the network; None: two are always fitted. off: the
    same of those that were measured beyond; None: none were.
    """

    name: str
    threads: list[int] = msgspec.field(name="fitted_to_threads")
    think_ns: Measured
    service_ns: Measured
    predicted: list[Prediction]
    misfit: float | None = None
    off: float | None = None


class Curve(msgspec.Struct, frozen=True):
    """A fitted curve. caption: of the plot that it belongs to. points: x and y."""

    caption: str
    name: str
    points: list[tuple[float, float]]


class Finding(msgspec.Struct, frozen=True):
    """Something that the figures show by themselves."""

    code: str
    text: str


class Remarks(TypedDict, total=False):
    """What a benchmark has to say of its figures.

    context: what else was set, in words. conditions: what figures depend on, by name: runs that are
    compared may differ in it. notes: what the figures are. models: fitted networks in words.
    """

    context: list[str]
    conditions: dict[str, str]
    notes: list[str]
    networks: list[NetworkFigures]
    models: list[str]
    curves: list[Curve]
    findings: list[Finding]
    warnings: list[Caution]
    off: OffFigures


class BenchmarkSummary(RecordingSummary, frozen=True, kw_only=True):
    """Everything that is printed of a recording of a benchmark; see also Remarks.

    common: what all points have in common. counts_per: the unit of work that counts are divided by.
    """

    title: str
    common: str
    rounds: int
    repetitions: int
    points: list[PointFigures]
    counts_per: str
    findings: Sequence[Finding] = ()
    context: Sequence[str] = ()
    conditions: dict[str, str] = msgspec.field(default_factory=dict)
    notes: Sequence[str] = ()
    networks: Sequence[NetworkFigures] = ()
    models: Sequence[str] = ()
    curves: Sequence[Curve] = ()
    #: Of interrupts or preemption disabled.
    off: OffFigures | None = None
    #: The kernel's own.
    clock_source: str | None = None


class MainFigure(msgspec.Struct, frozen=True):
    """A figure by which runs are compared. name: of its point."""

    name: str
    figure: Figure


def main_figures(points: list[PointFigures]) -> list[MainFigure]:
    """Return by what each point is compared: its first figure, and those with a name."""
    return [
        MainFigure(figure.compared_as or point.name, figure)
        for point in points
        for figure in point.figures.values()
        if figure is point.main_figure or figure.compared_as is not None
    ]


def setting_names(points: Sequence[PointFigures]) -> list[str]:
    """Return what distinguishes the settings of points, what is swept apart; "" without any."""
    settings = [
        point.point
        if point.place is None
        else msgspec.structs.replace(point.point, **{point.place.field: 1})
        for point in points
    ]
    return series_names(settings) if len(set(settings)) > 1 else [""] * len(settings)
