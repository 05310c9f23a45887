"""The figures of times in which interrupts or preemption are disabled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from whylate.quantities import format_count, format_short_ns
from whylate.recording.repetitions import Int64s, Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.off import OffPoint
from whylate.summary.benchmarks.model import Fact, Measured, PointFigures, Remarks
from whylate.summary.benchmarks.summarizer import (
    BenchmarkSummarizer,
    FigureKind,
    Floats,
    Measurement,
)
from whylate.summary.off import (
    count_lasting,
    join_reports,
    looking_cost,
    share_of_points,
    summarize_off,
)


class OffSummarizer(BenchmarkSummarizer):
    """Points of the sampling grid at which it was disabled, as a share of all."""

    title = "For how long interrupts or preemption are disabled"
    counts_per = "block"
    by_rounds = False
    interval_note = "95 %, of the share of time, conditional on this run (this boot)"
    positive = ("ns", "points")
    kinds: ClassVar[Mapping[str, FigureKind]] = {
        "disabled_ms_per_s": FigureKind(
            "disabled, ms per s", "ms/s", plot="disabled, ms per s and CPU"
        ),
    }

    def measure(
        self, point: OffPoint, rows: Repetitions, reports: Sequence[TurnReport]
    ) -> Measurement:
        """Return the time disabled in a second of a CPU, and what else came late."""
        joined = join_reports([report.off for report in reports if report.off is not None])
        disabled = rows.column("disabled") + rows.column("handler")
        figures = {"disabled_ms_per_s": _per_second(disabled, rows)}
        facts: dict[str, Fact] = {
            "period_ns": point.period_ns,
            "cpus": len(point.cpus),
            "points": int(rows.column("points").sum()),
            "points_disabled": int(disabled.sum()),
            "points_of_handlers": int(rows.column("handler").sum()),
            "points_in_programs": int(rows.column("user").sum()),
            "points_unknown": int(rows.column("unknown").sum()),
            "lasting": count_lasting(joined),
            "lost": sum(cpu.lost for cpu in joined.cpus),
            "share_of_cpu": looking_cost(joined, int(rows.column("ns").sum())),
            "method": joined.method,
        }
        return Measurement(figures, facts)

    def work(self, rows: Repetitions) -> Floats:
        """Return one block for each row."""
        return rows.column("points").astype(float)

    @classmethod
    def texts(cls, facts: Mapping[str, Fact], note: str) -> dict[str, str]:
        """Return how often it was sampled, and how many stretches lasted a period."""
        del note
        period, lasting = facts.get("period_ns"), facts.get("lasting")
        return {
            "sampled every": "tracepoints"
            if facts.get("method") == "tracepoints"
            else (format_short_ns(period) if isinstance(period, int) else "–"),
            "lasting as long": format_count(lasting) if isinstance(lasting, int) else "–",
        }

    def remarks(self, points: Sequence[PointFigures], measured: Sequence[PointFigures]) -> Remarks:
        """Say what is sampled and what that cannot show; show the stretches."""
        del points
        reports = [report.off for report in self.manifest.turns if report.off is not None]
        if not measured or not reports:
            return {}
        point = measured[0]
        assert isinstance(point.point, OffPoint)  # noqa: S101 (chosen by its type)
        off = summarize_off(
            point.point.what,
            point.point.period_ns,
            join_reports(reports),
            self.repetitions,
            [counter.name for counter in self.manifest.plan.workload.counters],
        )
        return {"off": off, "notes": off.notes, "warnings": off.warnings}


def _per_second(points: Int64s, rows: Repetitions) -> Measured:
    """Return ms in a second of a CPU; points: of the grid in each row that count."""
    share = share_of_points(points, rows)
    return Measured(1e3 * share.share, 1e3 * share.low, 1e3 * share.high)
