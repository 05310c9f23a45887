"""What the report's plots are drawn from: numbers only, and few of them however long the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from whylate.recording.samples import Activations, Stage
from whylate.report.plots.histogram import Latencies, count_distribution, linear_bins, log_bins
from whylate.report.plots.timeline import Band, CpuTimeline, timeline
from whylate.stats.arrays import Bools, Int64s
from whylate.summary.model import Estimate, Summary
from whylate.summary.stages import STAGES
from whylate.wire.constants import NOT_SEEN

#: Numbers that all CPUs share, so that 64 CPUs make no larger a page than 8.
_LINEAR_BINS = 32_000
_LOG_BINS = 32_000
_TIME_BINS = 32_000
#: Fewer bins a CPU than this would show no shape.
_FEWEST_BINS = 120
#: A tail this many times the median leaves the body no room on a linear axis.
_LOG_FROM_RATIO = 40


def plot_data(
    samples: Sequence[Activations], summary: Summary, resolution_ns: int = 1
) -> dict[str, Any]:
    """Bin the samples for the plots; all values are JSON numbers, latencies in ns.

    Bin indices are stored as differences, which are short to write. About 1 MB at the most for
    each plot.
    """
    cpus = max(1, len(samples))
    time = timeline(samples, _bins_each(2000, _TIME_BINS, cpus))
    return {
        **_histogram(samples, summary.together.latency_ns, resolution_ns),
        "words": {
            "counted": summary.counted,
            "quantity": summary.quantity,
            "worst": summary.worst,
        },
        "time": {
            "width": time.width_ns,
            "bins": time.bins,
            "max": [_worst(c) for c in time.cpus],
            "overrun": [_sparse(c.overrun) for c in time.cpus],
            "band": None if time.band is None else _band(time.band),
        },
        "stages": {
            name: _histogram(
                [_StageTimes(cpu, name) for cpu in samples],
                summary.together.stages[name].latency_ns,
                resolution_ns,
            )
            for name in STAGES
            if name in summary.together.stages
        },
    }


def _histogram(
    samples: Sequence[Latencies], figures: Mapping[str, Estimate], resolution_ns: int
) -> dict[str, Any]:
    """Bin latencies, or the times to a stage, for one plot."""
    cpus = max(1, len(samples))
    latencies = count_distribution(samples)
    linear = linear_bins(latencies, _bins_each(4000, _LINEAR_BINS, cpus), resolution_ns)
    log = log_bins(latencies, _bins_each(1500, _LOG_BINS, cpus), resolution_ns=resolution_ns)
    return {
        "cpus": [s.cpu for s in samples],
        "linear": {
            "width": linear.width_ns,
            "steps": [np.diff(i, prepend=0).tolist() for i in linear.index],
            "count": [c.tolist() for c in linear.count],
            "overrun": [_sparse(o) for o in linear.overrun],
        },
        "log": {
            "edges": log.edges_ns.tolist(),
            "count": [c.tolist() for c in log.count],
            "overrun": [_sparse(o) for o in log.overrun],
            "below": list(log.below),
        },
        "marks": [
            {"name": name, "ns": estimate.value, "atLeast": estimate.at_least}
            for name in ("p50", "p99.9", "max")
            if (estimate := figures.get(name)) and estimate.value is not None
        ],
        "body": _body_end(latencies.sketch_ns),
        "startLog": _wants_log(figures),
    }


@dataclass(frozen=True)
class _StageTimes:
    """The times to a stage as if they were latencies, of those activations that have one."""

    samples: Activations
    stage: Stage

    @property
    def cpu(self) -> int:
        return self.samples.cpu

    @cached_property
    def size(self) -> int:
        return sum(times_ns.size for times_ns, _ in self.chunks())

    def chunks(self) -> Iterator[tuple[Int64s, Bools]]:
        for times in self.samples.stage_chunks(self.stage) if self.samples.staged else ():
            times_ns = times[times != NOT_SEEN].astype(np.int64)
            yield times_ns, np.zeros(times_ns.size, np.bool_)


def _bins_each(most: int, together: int, cpus: int) -> int:
    return max(_FEWEST_BINS, min(most, together // cpus))


def _sparse(values: Any) -> list[list[int]]:
    at = np.flatnonzero(values)
    return [at.tolist(), values[at].tolist()]


def _worst(cpu: CpuTimeline) -> list[int | None]:
    return [int(m) if n else None for m, n in zip(cpu.max_ns, cpu.count, strict=True)]


def _band(band: Band) -> dict[str, Any]:
    def numbers(values: Any) -> list[int | None]:
        return [None if np.isnan(v) else round(float(v)) for v in values]

    return {"each": band.bins_each, "p50": numbers(band.p50_ns), "p99": numbers(band.p99_ns)}


def _body_end(some: Int64s) -> list[int]:
    """Return where the body begins and ends (p0.1, p99.9 of a sketch): a zoom, no figure."""
    if not some.size:
        return [0, 1]
    return [int(some[int(q * (some.size - 1))]) for q in (0.001, 0.999)]


def _wants_log(figures: Mapping[str, Estimate]) -> bool:
    median, worst = figures.get("p50"), figures.get("max")
    if median is None or worst is None or median.value is None or worst.value is None:
        return False
    return worst.value > _LOG_FROM_RATIO * max(median.value, 1)
