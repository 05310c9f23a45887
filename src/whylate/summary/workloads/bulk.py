"""The figures of the benchmark `bulk`: delays and costs of chunks, and the tuner's choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

import msgspec
import numpy as np

from whylate.quantities import format_count, format_short_ns
from whylate.recording.repetitions import Repetitions
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.bulk import Bulk, BulkPoint
from whylate.summary.benchmarks.model import Fact, Finding, Measured, PointFigures, Remarks
from whylate.summary.benchmarks.summarizer import (
    BenchmarkSummarizer,
    FigureKind,
    Floats,
    Measurement,
    median_of,
)
from whylate.summary.workloads.bulk_rows import FEWEST_FOR_P99, delay_names, in_turns, work_in_turns

#: What letting go may cost, as a part of the work: the tuner keeps it, and so does the knee.
MOST_COST = 0.15


class BulkSummarizer(BenchmarkSummarizer):
    """Delays of a signal while lines are cleaned, and what cleaning takes."""

    title = "For how long bulk work delays others"
    counts_per = "pass"
    swept = ("chunk", "lines in a chunk")
    positive = ("ns", "passes", "holds")
    kinds: ClassVar[Mapping[str, FigureKind]] = {
        "p50_ns": FigureKind("delay p50, ns", "ns", plot="median delay in ns"),
        "p99_ns": FigureKind("p99, ns", "ns", plot="99th percentile of the delay in ns"),
        "work_ns": FigureKind("work, ns", "ns", plot="ns to clean all lines"),
        "more_work": FigureKind("work more"),
    }

    def invalid(self, rows: Repetitions) -> str | None:
        """Return why rows are invalid: without time, or without a signal."""
        if (rows.column("delays") <= 0).any():
            return "no signal came while lines were cleaned: use a longer --block or more --lines"
        return super().invalid(rows)

    def measure(
        self, point: BulkPoint, rows: Repetitions, reports: Sequence[TurnReport]
    ) -> Measurement:
        """Return delays, the time of the work, and what the tuner makes of it."""
        figures = {
            name: median_of(in_turns(rows, rows.column(name).astype(float)))
            for name in delay_names(rows)
        }
        figures["work_ns"] = median_of(work_in_turns(rows))
        more = self._more_work(point, rows)
        if more is not None:
            figures["more_work"] = more
        tunings = [report.tuning for report in reports if report.tuning is not None]
        facts: dict[str, Fact] = {
            "delays": int(rows.column("delays").sum()),
            "most_ns": int(rows.column("most_ns").max()),
        }
        if tunings:
            facts |= {
                "chunk": int(np.median([tuning.chunk for tuning in tunings])),
                "floor_ns": float(np.median([tuning.floor_ns for tuning in tunings])),
            }
        tuned = [tuning for tuning in tunings if tuning.choice]
        if tuned:
            facts |= {
                "tuner_choice": int(np.median([tuning.choice for tuning in tuned])),
                "line_ns": float(np.median([tuning.item_ps for tuning in tuned])) / 1e3,
                "gap_ns": float(np.median([tuning.gap_ns for tuning in tuned])),
            }
        return Measurement(figures, facts)

    def _more_work(self, point: BulkPoint, rows: Repetitions) -> Measured | None:
        """Return how much longer the work takes than in the largest chunks, round by round."""
        plan = self.manifest.plan.workload
        points = plan.points if isinstance(plan, Bulk) else []
        largest = max(points, key=lambda member: member.chunk, default=point)
        if point == largest or not largest.chunk:
            return None
        index = points.index(largest)
        base = work_in_turns(self.repetitions.where(self.repetitions.column("point") == index))
        own = work_in_turns(rows)
        rounds = min(len(base), len(own))
        return median_of(own[:rounds] / base[:rounds] - 1) if rounds else None

    def work(self, rows: Repetitions) -> Floats:
        """Return the passes of each row."""
        return rows.column("passes").astype(np.float64)

    @classmethod
    def texts(cls, facts: Mapping[str, Fact], note: str) -> dict[str, str]:
        """Return the chunk, the longest delay, and of how many."""
        del note
        most, delays, chunk = (facts.get(key) for key in ("most_ns", "delays", "chunk"))
        if not isinstance(most, int) or not isinstance(delays, int):
            return {}
        return {
            "lines": str(chunk if chunk is not None else "–"),
            "longest": f"{format_short_ns(most)} of {format_count(delays)}",
        }

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
        """Return a point's figures; the tuner's lie where its chunk does, or nowhere."""
        figures = super().present(name, point, rounds, repetitions, measurement, counts)
        if figures.place is None or figures.place.value:
            return figures
        chunk = measurement.facts.get("chunk")
        if not isinstance(chunk, int) or not chunk:
            return msgspec.structs.replace(figures, place=None, plots={})
        place = msgspec.structs.replace(figures.place, value=float(chunk), text=f"{chunk}")
        return msgspec.structs.replace(figures, place=place)

    def remarks(self, points: Sequence[PointFigures], measured: Sequence[PointFigures]) -> Remarks:
        """Return what the costs are, where the knee is, and what the tuner's choice brings."""
        del points
        return {
            "notes": [
                "Work more: how much longer cleaning takes than in the largest chunks, as a part.",
                *_without_p99(measured),
                *_costs(measured),
            ],
            "findings": [*bulk_findings(measured)],
        }


def _without_p99(points: Sequence[PointFigures]) -> Iterator[str]:
    if any("p99_ns" not in point.figures for point in points):
        yield (
            f"A p99 needs {format_count(FEWEST_FOR_P99)} delays in each repetition: --block 1s has "
            "most."
        )


def _costs(points: Sequence[PointFigures]) -> Iterator[str]:
    known = [point.facts for point in points if point.facts.get("line_ns")]
    if known:
        line, gap, floor = (
            float(np.median([float(facts[key] or 0) for facts in known]))
            for key in ("line_ns", "gap_ns", "floor_ns")
        )
        yield (
            f"Costs: a line {line:.3g} ns, letting go of the lock {gap:.3g} ns; without work a "
            f"signal takes {format_short_ns(round(floor))}."
        )


def bulk_findings(points: Sequence[PointFigures]) -> Iterator[Finding]:
    """Yield the chunk with the least delay at a bounded cost, and the tuner's beside it."""
    swept = [point for point in points if isinstance(point.point, BulkPoint) and point.point.chunk]
    cheap = [point for point in swept if _cost(point) <= MOST_COST]
    if len(swept) < 2 or not cheap:
        return
    best = min(cheap, key=lambda point: point.figures["p50_ns"].value)
    largest = max(swept, key=lambda point: point.figures["p50_ns"].value)
    delay = best.figures["p50_ns"].value
    longest = format_short_ns(round(largest.figures["p50_ns"].value))
    if best is largest:
        text = f"no chunks delay less than {best.name}, {longest}, with work at most"
    else:
        text = (
            f"{best.name} have the least median delay, {format_short_ns(round(delay))} where "
            f"{largest.name} has {longest}, of all with work at most"
        )
    yield Finding("knee", f"{text} {MOST_COST:.0%} longer")
    tuned = next((point for point in points if isinstance(point.point, BulkPoint)
                  and not point.point.chunk), None)  # fmt: skip
    if tuned is not None:
        ratio = tuned.figures["p50_ns"].value / delay
        yield Finding(
            "tuner",
            f"the tuner chooses chunks of {tuned.facts.get('chunk')}: a median delay × {ratio:.2f} "
            f"that of {best.name}, with {_cost(tuned):.1%} longer work",
        )


def _cost(point: PointFigures) -> float:
    more = point.figures.get("more_work")
    return 0.0 if more is None else more.value
