"""The figures of the benchmark `offsets`: how the clock of each CPU is to that of the first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np

from whylate.quantities import format_count, format_number
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.offsets import OffsetPoint
from whylate.stats.clock_offsets import estimate_offset
from whylate.summary.benchmarks.model import Fact, Finding, Measured, PointFigures, Remarks
from whylate.summary.benchmarks.summarizer import (
    BenchmarkSummarizer,
    FigureKind,
    Floats,
    Measurement,
)
from whylate.summary.facts import clock_source
from whylate.summary.model import Caution

_READINGS = ("begin_ns", "peer_ns", "end_ns")


class OffsetsSummarizer(BenchmarkSummarizer):
    """Offset at the middle of the run, and rate, of all exchanges of a pair together."""

    title = "How far the clocks of CPUs are apart"
    counts_per = "exchange"
    positive = ("exchanges",)
    by_rounds = False
    interval_note = (
        "no estimates: within them lie offset and rate by the bounds of all exchanges, if the rate "
        "is constant"
    )
    kinds: ClassVar[Mapping[str, FigureKind]] = {
        "offset_ns": FigureKind("ahead, ns", "ns"),
        "rate_ppm": FigureKind("faster, ppm", "ppm"),
    }

    def measure(
        self, point: OffsetPoint, rows: Repetitions, reports: Sequence[TurnReport]
    ) -> Measurement:
        """Return offset and rate of the second CPU's clock."""
        del reports
        try:
            ahead = estimate_offset(*(rows.column(name) for name in _READINGS))
        except ValueError as error:
            return Measurement(refused=str(error))
        facts: dict[str, Fact] = {
            "exchanges": int(rows.column("exchanges").sum()),
            "quickest_ns": ahead.quickest_ns,
            "constant_rate": ahead.low_ppm is not None if rows.n > 1 else None,
            "at_ns": ahead.at_ns,
            **_added(point),
        }
        figures = {"offset_ns": Measured(ahead.offset_ns, ahead.low_ns, ahead.high_ns)}
        if ahead.ppm is not None:
            figures["rate_ppm"] = Measured(ahead.ppm, ahead.low_ppm, ahead.high_ppm)
        return Measurement(figures, facts)

    def work(self, rows: Repetitions) -> Floats:
        """Return the exchanges of each row."""
        return rows.column("exchanges").astype(np.float64)

    @classmethod
    def texts(cls, facts: Mapping[str, Fact], note: str) -> dict[str, str]:
        """Return the quickest exchange, and of how many."""
        del note
        quickest, exchanges = facts.get("quickest_ns"), facts.get("exchanges")
        if not isinstance(quickest, int) or not isinstance(exchanges, int):
            return {}
        return {"quickest": f"{quickest} ns of {format_count(exchanges)}"}

    def remarks(self, points: Sequence[PointFigures], measured: Sequence[PointFigures]) -> Remarks:
        """Return which clocks are surely apart, and how figures were changed."""
        del points
        source = clock_source(self.manifest)
        text = (
            "An exchange: the first CPU reads the clock, the second does, the first does again. "
            "The offset is wrong by at most half of the time between the first's readings."
        )
        return {
            "context": [f"the kernel's clock source {source or 'not known'}"],
            "notes": [text],
            "findings": [*_findings(measured)],
            "warnings": [*_changed(measured), *_unsteady(measured)],
        }


def _added(point: OffsetPoint) -> dict[str, Fact]:
    """Return what was added to the second CPU's readings."""
    if not point.shift_ns and not point.drift_ppb:
        return {}
    return {"added_ns": point.shift_ns, "added_ppm": point.drift_ppb / 1e3}


def _findings(points: Sequence[PointFigures]) -> Iterator[Finding]:
    for point in points:
        offset, rate = point.figures.get("offset_ns"), point.figures.get("rate_ppm")
        if offset is not None and not _holds_zero(offset):
            way = "ahead of" if offset.value > 0 else "behind"
            yield Finding("offset", f"{point.name}: {way} it, {_text(offset, 'ns')}")
        if rate is not None and not _holds_zero(rate):
            way = "faster" if rate.value > 0 else "slower"
            yield Finding("rate", f"{point.name}: {way}, {_text(rate, 'ppm')}")


def _holds_zero(figure: Measured) -> bool:
    low, high = figure.low, figure.high
    return low is None or high is None or low <= 0 <= high


def _text(figure: Measured, unit: str) -> str:
    values = (figure.value, figure.low or 0.0, figure.high or 0.0)
    value, low, high = (format_number(value) for value in values)
    return f"{value} [{low}, {high}] {unit}"


def _changed(points: Sequence[PointFigures]) -> Iterator[Caution]:
    if any("added_ns" in point.facts for point in points):
        yield Caution(
            "added", "to what the second CPU read an offset or a rate was added: no clock is so"
        )


def _unsteady(points: Sequence[PointFigures]) -> Iterator[Caution]:
    for point in points:
        if point.facts.get("constant_rate") is False:
            yield Caution(
                "unsteady",
                f"{point.name}: no constant rate fits all exchanges: the clock was set, or its "
                "rate changed; the offset is that of the quickest exchange",
            )
