"""From the repetitions of a benchmark to its summary: what all benchmarks share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from whylate.quantities import format_short_ns
from whylate.recording.manifest import Manifest
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.point_names import common_text, point_names
from whylate.stats.comparison.shifts import median_interval
from whylate.summary.benchmarks.model import (
    BenchmarkSummary,
    Fact,
    Figure,
    Measured,
    Place,
    PointFigures,
    Remarks,
)
from whylate.summary.cautions import COARSE_NS, board_cautions, load_cautions, noticed
from whylate.summary.facts import clock_source, describe_recording
from whylate.summary.model import Caution, Trust
from whylate.summary.trust import assess_benchmark

Floats = NDArray[np.float64]

#: Rounds with which an interval can be given.
FEWEST_ROUNDS = 6
INTERVAL_NOTE = "95 %, of the median over rounds, conditional on this run (this boot)"


@dataclass(frozen=True)
class FigureKind:
    """How a figure is shown. plot: the caption of its plot; "": it is not drawn."""

    heading: str = ""
    unit: str = ""
    higher_is_better: bool = False
    plot: str = ""
    quantity: str = ""
    compared_as: str | None = None


@dataclass(frozen=True)
class Measurement:
    """What was measured at a point: figures in the order of their columns, the main one first."""

    figures: Mapping[str, Measured] = field(default_factory=dict)
    facts: Mapping[str, Fact] = field(default_factory=dict)
    refused: str | None = None
    note: str = ""


class BenchmarkSummarizer:
    """Summarises one recording of a benchmark. predict: what is predicted, where it can be."""

    title: ClassVar[str]
    #: By what counts of a repetition are divided, and its column.
    counts_per: ClassVar[str]
    #: The swept field of a point and the label of its axis; None: nothing is plotted.
    swept: ClassVar[tuple[str, str] | None] = None
    #: By key.
    kinds: ClassVar[Mapping[str, FigureKind]]
    #: Columns that are above zero in every valid repetition.
    positive: ClassVar[tuple[str, ...]] = ()
    #: Of what intervals are; and whether that is rounds, of which there must be some.
    interval_note: ClassVar[str] = INTERVAL_NOTE
    by_rounds: ClassVar[bool] = True
    #: Whether it can predict more threads than were measured.
    can_predict: ClassVar[bool] = False

    def __init__(
        self, manifest: Manifest, repetitions: Repetitions, predict: Sequence[int] = ()
    ) -> None:
        self.manifest = manifest
        self.repetitions = repetitions
        self.predict = predict

    # What a benchmark defines.

    def measure(self, point: Any, rows: Repetitions, reports: Sequence[TurnReport]) -> Measurement:
        """Return what was measured at a point; rows: at least one, all valid."""
        raise NotImplementedError

    def work(self, rows: Repetitions) -> Floats:
        """Return by what the counts of each row are divided, shape (n,)."""
        raise NotImplementedError

    def invalid(self, rows: Repetitions) -> str | None:
        """Return why rows are invalid; None where they are not."""
        for column in self.positive:
            missing = int((rows.column(column) <= 0).sum())
            if missing:
                return f"{missing} of {rows.n} repetitions have no {column}"
        return None

    @classmethod
    def kind(cls, key: str, point: Any) -> FigureKind:
        """Return how a figure of a point is shown."""
        del point
        return cls.kinds[key]

    @classmethod
    def texts(cls, facts: Mapping[str, Fact], note: str) -> dict[str, str]:
        """Return facts in words, by the headings of their columns."""
        del facts, note
        return {}

    @classmethod
    def plotted_facts(cls, facts: Mapping[str, Fact]) -> dict[str, Measured]:
        """Return what is drawn of the facts of a point, by caption."""
        del facts
        return {}

    @classmethod
    def place_text(cls, value: int) -> str:
        """Format a place on the axis of a sweep."""
        return f"{value:g}"

    def remarks(self, points: Sequence[PointFigures], measured: Sequence[PointFigures]) -> Remarks:
        """Return what the figures are and show; measured: the points that were not refused."""
        raise NotImplementedError

    # What all benchmarks share.

    def summarize(self, recording_name: str) -> BenchmarkSummary:
        """Compute everything that is printed of the recording."""
        manifest = self.manifest
        plan = manifest.plan.benchmark
        assert plan is not None  # noqa: S101 (the registry chose this class by the plan)
        points = [
            self._point(index, name, point)
            for index, (name, point) in enumerate(
                zip(point_names(plan.points), plan.points, strict=True)
            )
        ]
        measured = [point for point in points if not point.refused]
        remarks = self.remarks(points, measured)
        remarks["warnings"] = [
            *(_few_rounds(measured) if self.by_rounds else []),
            *remarks.get("warnings", []),
            *board_cautions(manifest),
            *_coarse_clock(manifest),
            *load_cautions(manifest),
            *noticed(manifest),
        ]
        return BenchmarkSummary(
            **describe_recording(manifest, recording_name),
            **remarks,
            title=self.title,
            common=common_text(plan.points),
            rounds=plan.rounds,
            repetitions=plan.repetitions,
            trust=self._trust(points),
            points=points,
            interval_note=self.interval_note,
            counts_per=self.counts_per,
            clock_source=clock_source(manifest),
        )

    @classmethod
    def present(
        cls,
        name: str,
        point: BenchmarkPoint,
        rounds: int,
        repetitions: int,
        measurement: Measurement,
        counts: Mapping[str, Measured] | None = None,
    ) -> PointFigures:
        """Return a point's figures with all that shows and compares them."""
        figures, plots = {}, {}
        for key, measured in measurement.figures.items() if not measurement.refused else ():
            kind = cls.kind(key, point)
            figures[key] = Figure(
                measured.value, measured.low, measured.high,
                key=key, heading=kind.heading, unit=kind.unit,
                higher_is_better=kind.higher_is_better, quantity=kind.quantity or key,
                compared_as=kind.compared_as,
            )  # fmt: skip
            if kind.plot:
                plots[kind.plot] = measured
        place = None
        if cls.swept is not None:
            swept, label = cls.swept
            value = getattr(point, swept)
            place = Place(swept, label, float(value), cls.place_text(value))
        return PointFigures(
            name=name,
            point=point,
            rounds=rounds,
            repetitions=repetitions,
            figures=figures,
            facts=dict(measurement.facts),
            texts=cls.texts(measurement.facts, measurement.note),
            plots={**plots, **cls.plotted_facts(measurement.facts)},
            counts=dict(counts or {}),
            refused=measurement.refused,
            note=measurement.note,
            place=place,
        )

    def _point(self, index: int, name: str, point: BenchmarkPoint) -> PointFigures:
        plan = self.manifest.plan.benchmark
        assert plan is not None  # noqa: S101
        rows = self.repetitions.where(self.repetitions.column("point") == index)
        reports = [report for report in self.manifest.turns if plan.order[report.turn] == index]
        failed = next((report.error for report in reports if report.error), None)
        rounds = len(np.unique(rows.column("turn")))
        refused = failed or ("nothing was measured" if not rows.n else self.invalid(rows))
        if not rows.n or self.invalid(rows):
            return self.present(name, point, rounds, rows.n, Measurement(refused=refused))
        measurement = self.measure(point, rows, reports)
        refused = failed or measurement.refused
        if refused:
            measurement = Measurement({}, measurement.facts, refused, measurement.note)
            return self.present(name, point, rounds, rows.n, measurement)
        work = self.work(rows)
        counts = {
            counter: median_of_turns(rows, values.astype(np.float64) / work)
            for counter, values in rows.counts.items()
        }
        return self.present(name, point, rounds, rows.n, measurement, counts)

    def _trust(self, points: Sequence[PointFigures]) -> Trust:
        reasons = assess_benchmark(self.manifest, self.repetitions.n)
        if self.repetitions.n:
            reasons += [f"{point.name}: {point.refused}." for point in points if point.refused]
        return Trust("no verdict" if reasons else "ok", list(dict.fromkeys(reasons)))


def median_of_turns(rows: Repetitions, values: Floats) -> Measured:
    """Return the median over turns of the median of each; values: of the rows, shape (n,)."""
    turns = rows.column("turn")
    return median_of([float(np.median(values[turns == turn])) for turn in np.unique(turns)])


def median_of(values: Sequence[float] | Floats) -> Measured:
    """Return the median of one value of each round."""
    median = median_interval(values)
    return Measured(median.value, median.low, median.high)


def _few_rounds(measured: Sequence[PointFigures]) -> list[Caution]:
    fewest = min((point.rounds for point in measured), default=FEWEST_ROUNDS)
    if fewest >= FEWEST_ROUNDS:
        return []
    rounds = f"{fewest} rounds are" if fewest > 1 else "1 round is"
    text = f"{rounds} too few for an interval: --rounds {FEWEST_ROUNDS} is the least"
    return [Caution("few-rounds", text)]


def _coarse_clock(manifest: Manifest) -> list[Caution]:
    resolution_ns = manifest.probe.clock_resolution_ns
    if resolution_ns is None or resolution_ns <= COARSE_NS:
        return []
    text = (
        f"The clock's resolution is {format_short_ns(resolution_ns)}: what takes hardly longer is "
        "not measured."
    )
    return [Caution("coarse-clock", text)]
