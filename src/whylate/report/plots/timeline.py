"""The run over time: the worst latency of each CPU in each stretch of the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from whylate.recording.samples import Activations
from whylate.stats.run.cpu_series import due_span, latencies

#: A quantile q needs 10 expected exceedances: the median 20 samples, p99 a thousand.
_NEEDED_FOR_P50 = 20
_NEEDED_FOR_P99 = 1000


@dataclass(frozen=True)
class CpuTimeline:
    """One CPU in each bin of time.

    count:   int64, shape (bins,): samples whose activation was due in the bin.
    max_ns:  int64, shape (bins,): their worst latency; 0 where count is 0.
    overrun: int64, shape (bins,): how many of them are lower bounds.
    """

    cpu: int
    count: NDArray[np.int64]
    max_ns: NDArray[np.int64]
    overrun: NDArray[np.int64]


@dataclass(frozen=True)
class Band:
    """Median and p99 of all CPUs together in stretches of `bins_each` bins of time.

    p50_ns, p99_ns: float64, shape (stretches,); NaN where a stretch holds too few samples for
    ten expected exceedances (20 for the median, 1000 for p99). Quantiles of the recorded values:
    overruns stand at their lower bound. Descriptive, without an interval.
    """

    bins_each: int
    p50_ns: NDArray[np.float64]
    p99_ns: NDArray[np.float64]


@dataclass(frozen=True)
class Timeline:
    """Bins of equal width; bin i covers `width_ns` from start_ns + i * width_ns."""

    start_ns: int
    width_ns: int
    bins: int
    cpus: tuple[CpuTimeline, ...]
    band: Band | None


def timeline(samples: Sequence[Activations], max_bins: int = 2000) -> Timeline:
    """Cut the run into at most `max_bins` bins, none shorter than the interval, where there is one.

    Every sample is in exactly one bin of its CPU, by the time at which it was due. Raises
    ValueError if max_bins is not positive.
    """
    if max_bins < 1:
        raise ValueError(f"max_bins is {max_bins}: it must be at least 1")
    span = due_span(samples)
    if span is None:
        zero = np.zeros(1, np.int64)
        return Timeline(0, 1, 1, tuple(CpuTimeline(s.cpu, zero, zero, zero) for s in samples), None)
    start, end = span[0], span[1] + 1
    shortest = max(s.interval_ns for s in samples if s.size)
    width = max(shortest, -(-(end - start) // max_bins))
    bins = -(-(end - start) // width)
    edges_ns = start + np.arange(bins + 1, dtype=np.int64) * width
    # The first sample of each bin and, last, the end: int64, shape (bins + 1,).
    edges = [s.rows_due(edges_ns) for s in samples]
    cpus = tuple(_cpu_timeline(s, e) for s, e in zip(samples, edges, strict=True))
    return Timeline(start, width, bins, cpus, _band(samples, edges, bins))


def _cpu_timeline(cpu: Activations, first: NDArray[np.int64]) -> CpuTimeline:
    count = np.diff(first)
    max_ns = np.full(count.size, np.iinfo(np.int64).min)
    overrun = np.zeros(count.size, np.int64)
    at = 0
    for latency_ns, censored in cpu.chunks():
        edges = np.clip(first - at, 0, latency_ns.size)
        # reduceat takes an empty stretch for its first element: only filled ones are given.
        filled = np.flatnonzero(np.diff(edges) > 0)
        starts = edges[filled]
        max_ns[filled] = np.maximum(max_ns[filled], np.maximum.reduceat(latency_ns, starts))
        overrun[filled] += np.add.reduceat(censored, starts, dtype=np.int64)
        at += latency_ns.size
    max_ns[count == 0] = 0
    return CpuTimeline(cpu.cpu, count, max_ns, overrun)


def _band(samples: Sequence[Activations], edges: list[NDArray[np.int64]], bins: int) -> Band | None:
    total = sum(s.size for s in samples)
    stretches = min(200, bins, total // (2 * _NEEDED_FOR_P99))
    if stretches < 4:
        return None
    each = -(-bins // stretches)
    cuts = [*range(0, bins, each), bins]
    p50 = np.full(len(cuts) - 1, np.nan)
    p99 = np.full(len(cuts) - 1, np.nan)
    for at, (low, high) in enumerate(pairwise(cuts)):
        values = np.concatenate(
            [latencies(s, e[low], e[high]) for s, e in zip(samples, edges, strict=True)]
        )
        n = values.size
        wanted = [
            k
            for k, need in ((n // 2, _NEEDED_FOR_P50), (n * 99 // 100, _NEEDED_FOR_P99))
            if n >= need
        ]
        if wanted:
            values.partition(wanted)
            p50[at] = values[wanted[0]]
        if len(wanted) > 1:
            p99[at] = values[wanted[1]]
    return Band(each, p50, p99)
