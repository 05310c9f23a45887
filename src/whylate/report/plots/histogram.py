"""Latencies counted into bins: exact counts, nothing capped, negative ones included."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from whylate.stats.arrays import Bools
from whylate.stats.run.values import ValueCounter, Values

Counts = NDArray[np.int64]

#: Bins from the smallest to the largest latency, empty ones too.
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


class Latencies(Protocol):
    """Latencies of one CPU, which are read in order, some at a time."""

    @property
    def cpu(self) -> int:
        """Its number."""

    @property
    def size(self) -> int:
        """How many."""

    def chunks(self) -> Iterator[tuple[Counts, Bools]]:
        """Yield latencies, int64 ns, and whether each is an overrun."""


@dataclass(frozen=True)
class CpuDistribution:
    """The latencies of one CPU by value; overruns: those of them that are lower bounds."""

    cpu: int
    values: Values
    overruns: Values


@dataclass(frozen=True)
class Distribution:
    """The latencies of all CPUs by value.

    sketch_ns: int64, sorted: every k-th of all: for choosing axes only.
    """

    cpus: tuple[CpuDistribution, ...]
    sketch_ns: Counts

    @property
    def range_ns(self) -> tuple[int, int]:
        """The smallest and the largest latency; zeros where there is none."""
        filled = [cpu.values.value_ns for cpu in self.cpus if cpu.values.n]
        if not filled:
            return 0, 0
        return min(int(x[0]) for x in filled), max(int(x[-1]) for x in filled)


def count_distribution(samples: Sequence[Latencies], sketched: int = 200_000) -> Distribution:
    """Count latencies in one pass; about `sketched` of them are kept as they are."""
    step = max(1, sum(series.size for series in samples) // sketched)
    cpus: list[CpuDistribution] = []
    sketch: list[Counts] = [np.zeros(0, np.int64)]
    for series in samples:
        counted, late = ValueCounter(), ValueCounter()
        first = 0
        for latency_ns, overrun in series.chunks():
            counted.add(latency_ns)
            late.add(latency_ns[overrun])
            sketch.append(latency_ns[-first % step :: step].copy())
            first += latency_ns.size
        cpus.append(CpuDistribution(series.cpu, counted.values(), late.values()))
    return Distribution(tuple(cpus), np.sort(np.concatenate(sketch)))


def linear_bins(
    latencies: Distribution, max_bins: int = 4000, resolution_ns: int = 1
) -> LinearBins:
    """Count latencies into bins of one width, at most `max_bins` filled bins a CPU.

    The width is a step of 1-2-5, at most 1 µs unless the bins would be too many, finer where the
    body is narrow, and never finer than the clock's `resolution_ns`. Raises ValueError if
    max_bins is below 2: one bin can not hold both sides of zero.
    """
    if max_bins < 2:
        raise ValueError(f"max_bins is {max_bins}: it must be at least 2")
    low, high = latencies.range_ns
    width = _first_width_ns(latencies.sketch_ns, resolution_ns)
    while high // width - low // width >= _DENSE_LIMIT:
        width = _next_width_ns(width)
    # Every width that is tried is a multiple of the first.
    wide = width
    while max((_distinct(c.values.value_ns // wide) for c in latencies.cpus), default=0) > max_bins:
        wide = _next_width_ns(wide)
        while wide % width:
            wide = _next_width_ns(wide)
    index, count, overrun = [], [], []
    for cpu in latencies.cpus:
        bins = cpu.values.value_ns // wide
        filled = bins[np.flatnonzero(np.diff(bins, prepend=bins[:1] - 1))]
        index.append(filled)
        count.append(_between(cpu.values, filled * wide, (filled + 1) * wide))
        overrun.append(_between(cpu.overruns, filled * wide, (filled + 1) * wide))
    return LinearBins(wide, tuple(index), tuple(count), tuple(overrun))


def log_bins(
    latencies: Distribution,
    max_bins: int = 1500,
    per_decade: int = 60,
    resolution_ns: int = 1,
) -> LogBins:
    """Count latencies into bins of equal ratio, `per_decade` of them or fewer.

    The axis begins two decades below the median at the lowest: what lies below (zero, negative,
    a lone early wakeup) is counted in `below`. Edges are whole steps of `resolution_ns`, so that
    the clock's steps make no comb of empty bins.
    """
    _, high = latencies.range_ns
    if high <= 0:
        none = tuple(np.zeros(0, np.int64) for _ in latencies.cpus)
        return LogBins(np.zeros(0, np.int64), none, none, tuple(c.values.n for c in latencies.cpus))
    first = _log_start_ns(latencies, high)
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
        tuple(_between(cpu.values, edges_ns[:-1], edges_ns[1:]) for cpu in latencies.cpus),
        tuple(_between(cpu.overruns, edges_ns[:-1], edges_ns[1:]) for cpu in latencies.cpus),
        tuple(cpu.values.count_below(int(edges_ns[0])) for cpu in latencies.cpus),
    )


def _between(values: Values, low_ns: Counts, high_ns: Counts) -> Counts:
    """Count the latencies in each [low, high)."""
    return values.below(high_ns) - values.below(low_ns)


def _first_width_ns(some: Counts, resolution_ns: int) -> int:
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


def _log_start_ns(latencies: Distribution, high: int) -> int:
    positive = [
        int(above[0]) if (above := values[values > 0]).size else high
        for values in (cpu.values.value_ns for cpu in latencies.cpus)
    ]
    some = latencies.sketch_ns
    median = int(some[some.size // 2]) if some.size else 0
    lowest = int(10 ** np.floor(np.log10(median) - 2)) if median > 0 else 1
    return max(1, lowest, min(positive, default=1))
