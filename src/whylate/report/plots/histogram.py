"""Latencies counted into bins: exact counts, nothing capped, negative ones included."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.recording.samples import CpuSamples

Counts = NDArray[np.int64]

#: Samples taken at a time, so that the temporaries stay small beside the arrays themselves.
_CHUNK = 1 << 20
#: Dense bins that are counted into before the empty ones are left out.
_DENSE_LIMIT = 1 << 20
#: Narrower bins than this show the clock, not the latency.
_NARROWEST_NS = 10
_BINS_OF_BODY = 80


@dataclass(frozen=True)
class LinearBins:
    """Bins of equal width; only the ones that hold something are kept.

    Bin i covers [i * width_ns, (i + 1) * width_ns); i may be negative.
    index:   per CPU, int64, strictly increasing, shape (k,).
    count:   per CPU, int64, shape (k,), each ≥ 1; the sum is the CPU's number of samples.
    overrun: per CPU, int64, shape (k,): how many of `count` are lower bounds.
    """

    width_ns: int
    index: tuple[Counts, ...]
    count: tuple[Counts, ...]
    overrun: tuple[Counts, ...]


@dataclass(frozen=True)
class LogBins:
    """Bins whose width grows with the latency.

    edges_ns: int64, strictly increasing, shape (m + 1,); bin i covers [edges[i], edges[i + 1]).
    count, overrun: per CPU, int64, shape (m,).
    below: per CPU, how many samples lie below edges_ns[0] (negative and zero ones among them).
    count.sum() + below is the CPU's number of samples. m is 0 where nothing is positive.
    """

    edges_ns: Counts
    count: tuple[Counts, ...]
    overrun: tuple[Counts, ...]
    below: tuple[int, ...]


def linear_bins(
    samples: Sequence[CpuSamples], max_bins: int = 4000, resolution_ns: int = 1
) -> LinearBins:
    """Count latencies into bins of one width, at most `max_bins` filled bins a CPU.

    The width is a step of 1-2-5, at most 1 µs unless the bins would be too many, finer where the
    body is narrow, and never finer than the clock's `resolution_ns`. Raises ValueError if
    max_bins is below 2: one bin can not hold both sides of zero.
    """
    if max_bins < 2:
        raise ValueError(f"max_bins is {max_bins}: it must be at least 2")
    low, high = _range_ns(samples)
    width = _first_width_ns(samples, resolution_ns)
    while high // width - low // width >= _DENSE_LIMIT:
        width = _next_width_ns(width)
    index, count, overrun = [], [], []
    for cpu in samples:
        dense = _dense_counts(cpu.latency_ns, width, low // width, high // width)
        filled = np.flatnonzero(dense)
        late = np.searchsorted(filled, cpu.latency_ns[cpu.overrun] // width - low // width)
        index.append(filled + low // width)
        count.append(dense[filled])
        overrun.append(np.bincount(late, minlength=filled.size))

    # Wider bins are made by adding up the narrow ones: every width here divides the next tried.
    wide = width
    while max((_distinct(i * width // wide) for i in index), default=0) > max_bins:
        wide = _next_width_ns(wide)
        while wide % width:
            wide = _next_width_ns(wide)
    if wide != width:
        for at, narrow in enumerate(index):
            index[at], first = np.unique(narrow * width // wide, return_index=True)
            count[at] = np.add.reduceat(count[at], first) if first.size else count[at]
            overrun[at] = np.add.reduceat(overrun[at], first) if first.size else overrun[at]
    return LinearBins(wide, tuple(index), tuple(count), tuple(overrun))


def log_bins(
    samples: Sequence[CpuSamples],
    max_bins: int = 1500,
    per_decade: int = 60,
    resolution_ns: int = 1,
) -> LogBins:
    """Count latencies into bins of equal ratio, `per_decade` of them or fewer.

    The axis begins two decades below the median at the lowest: what lies below (zero, negative,
    a lone early wakeup) is counted in `below`. Edges are whole steps of `resolution_ns`, so that
    the clock's steps make no comb of empty bins.
    """
    _, high = _range_ns(samples)
    if high <= 0:
        none = tuple(np.zeros(0, np.int64) for _ in samples)
        sizes = tuple(int(s.latency_ns.size) for s in samples)
        return LogBins(np.zeros(0, np.int64), none, none, sizes)
    first = _log_start_ns(samples, high)
    decades = max(np.log10((high + 1) / first), 0.1)
    steps = int(max(1, min(max_bins, np.ceil(decades * per_decade))))
    edges = np.geomspace(first, high + 1, steps + 1)
    unit = max(1, resolution_ns)
    # Rounded down at the start and up at the end, so that both extremes lie inside.
    edges_ns = np.unique(np.round(edges / unit).astype(np.int64) * unit)
    edges_ns[0] = min(int(edges_ns[0]), first)
    if edges_ns[-1] <= high:
        edges_ns[-1] = high + 1
    if edges_ns.size < 2:
        edges_ns = np.array([first, high + 1], np.int64)
    if edges_ns[0] <= 0:
        edges_ns[0] = 1
    return LogBins(
        edges_ns,
        tuple(np.histogram(cpu.latency_ns, edges_ns)[0] for cpu in samples),
        tuple(np.histogram(cpu.latency_ns[cpu.overrun], edges_ns)[0] for cpu in samples),
        tuple(int(np.count_nonzero(cpu.latency_ns < edges_ns[0])) for cpu in samples),
    )


def sketch_ns(samples: Sequence[CpuSamples], limit: int = 200_000) -> NDArray[np.int64]:
    """Return every k-th latency of all CPUs, about `limit`, sorted: for choosing axes only."""
    total = sum(s.latency_ns.size for s in samples)
    step = max(1, total // limit)
    parts = [s.latency_ns[::step] for s in samples]
    return np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)


def _range_ns(samples: Sequence[CpuSamples]) -> tuple[int, int]:
    filled = [s.latency_ns for s in samples if s.latency_ns.size]
    if not filled:
        return 0, 0
    return min(int(x.min()) for x in filled), max(int(x.max()) for x in filled)


def _first_width_ns(samples: Sequence[CpuSamples], resolution_ns: int) -> int:
    some = sketch_ns(samples)
    # p1 to p99: a stall of many overruns, or one early wakeup, is not the body.
    body = int(some[some.size * 99 // 100] - some[some.size // 100]) if some.size else 0
    aim = max(_NARROWEST_NS, min(1000, body // _BINS_OF_BODY))
    width = _NARROWEST_NS
    while _next_width_ns(width) <= aim:
        width = _next_width_ns(width)
    while width < resolution_ns:
        width = _next_width_ns(width)
    return width


def _next_width_ns(width: int) -> int:
    """Return the next step of 10, 20, 50, 100, 200, 500, ..."""
    return width * 5 // 2 if str(width)[0] == "2" else width * 2


def _distinct(sorted_values: Counts) -> int:
    return int(sorted_values.size and 1 + np.count_nonzero(np.diff(sorted_values)))


def _dense_counts(latency_ns: Counts, width: int, first: int, last: int) -> Counts:
    counts = np.zeros(last - first + 1, np.int64)
    for at in range(0, latency_ns.size, _CHUNK):
        bins = latency_ns[at : at + _CHUNK] // width
        bins -= first
        counts += np.bincount(bins, minlength=counts.size)
    return counts


def _log_start_ns(samples: Sequence[CpuSamples], high: int) -> int:
    positive = [int(s.latency_ns.min(initial=high, where=s.latency_ns > 0)) for s in samples]
    some = sketch_ns(samples)
    median = int(some[some.size // 2]) if some.size else 0
    lowest = int(10 ** np.floor(np.log10(median) - 2)) if median > 0 else 1
    return max(1, lowest, min(positive, default=1))
