"""Series of activations, one per CPU, on one axis of time.

A stall of the host hits all CPUs at once. What counts events in time therefore counts them over
all series together, in the order in which they were due.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np

from whylate.stats.arrays import Bools, Int64s


class CpuSeries(Protocol):
    """Activations of one CPU in the order of their due times, on a clock that all series share.

    They are in memory or on disk, and are read in order, some at a time. Due times come from a
    schedule or are stored; both are read by row. Latencies are int64 ns, those of overruns lower
    bounds.
    """

    @property
    def size(self) -> int:
        """Activations."""

    @property
    def watched_ns(self) -> int:
        """Time that the activations stand for, ns."""

    @property
    def per_s(self) -> float:
        """Activations that come each second; 0 where there were none."""

    def chunks(self, first: int = 0, end: int | None = None) -> Iterator[tuple[Int64s, Bools]]:
        """Yield the latencies of rows first to end - 1 in order, and whether each is an overrun."""

    def exceeding(self, limit_ns: int, *, overruns: bool = False) -> tuple[Int64s, Int64s, Bools]:
        """Return the rows above a limit, int64, sorted; their latencies; which are overruns.

        overruns: every overrun is among them, however short its bound. Memory: 17 bytes a row.
        """

    def due_of(self, rows: Int64s) -> Int64s:
        """Return when the activations in these rows were due, int64 ns, in the rows' shape."""

    def rows_due(self, times_ns: Int64s) -> Int64s:
        """Return the first row that was due at or after each time, int64; n where none was."""


def rows(series: Sequence[CpuSeries]) -> int:
    """Activations in all series together."""
    return sum(cpu.size for cpu in series)


def observed_s(series: Sequence[CpuSeries]) -> float:
    """Time that was watched, s: the mean over the series."""
    if not series:
        return 0.0
    return sum(cpu.watched_ns for cpu in series) / len(series) / 1e9


def due_span(series: Sequence[CpuSeries]) -> tuple[int, int] | None:
    """Return when the first and the last activation of any series were due; None without a row."""
    ends = [cpu.due_of(np.array([0, cpu.size - 1])) for cpu in series if cpu.size]
    if not ends:
        return None
    return min(int(first) for first, _ in ends), max(int(last) for _, last in ends)


@dataclass(frozen=True)
class TimeBlocks:
    """The run cut into blocks of equal time.

    edges: for each series int64, shape (blocks + 1,): block k holds rows edges[k]:edges[k + 1].
    totals: int64, shape (blocks,): rows of all series in each block; may be 0 in a gap.
    """

    edges: tuple[Int64s, ...]
    totals: Int64s

    def count(self, events: Sequence[Int64s]) -> Int64s:
        """Events of all series in each block, int64, shape (blocks,).

        events: for each series the rows that are one, int64, sorted.
        """
        counts = np.zeros(len(self.totals), dtype=np.int64)
        for edges, rows_here in zip(self.edges, events, strict=True):
            counts += np.diff(np.searchsorted(rows_here, edges))
        return counts

    def count_above(
        self, series: Sequence[CpuSeries], limit_ns: int, *, overruns: bool = False
    ) -> Int64s:
        """Rows above a limit in each block, int64, shape (blocks,), in one pass over the series.

        series: those that were cut. overruns: each counts as above it.
        """
        counts = np.zeros(len(self.totals), dtype=np.int64)
        for edges, cpu in zip(self.edges, series, strict=True):
            first = 0
            for latency_ns, overrun in cpu.chunks():
                above = latency_ns > limit_ns
                if overruns:
                    above |= overrun
                end = first + above.size
                block, last = np.searchsorted(edges, [first, end - 1], side="right") - 1
                cuts = np.clip(edges[block : last + 2] - first, 0, above.size)
                for at, (low, high) in enumerate(pairwise(cuts.tolist()), int(block)):
                    counts[at] += np.count_nonzero(above[low:high])
                first = end
        return counts


def time_blocks(series: Sequence[CpuSeries], blocks: int) -> TimeBlocks:
    """Cut the time from the first to the last activation of any series into equal blocks.

    Raises ValueError where no series has a row.
    """
    span = due_span(series)
    if span is None:
        raise ValueError("time_blocks needs at least one activation")
    first_ns, last_ns = span
    span_ns = last_ns + 1 - first_ns
    edges_ns = np.array([first_ns + span_ns * k // blocks for k in range(blocks + 1)])
    edges: list[Int64s] = []
    totals = np.zeros(blocks, dtype=np.int64)
    for cpu in series:
        rows_at = cpu.rows_due(edges_ns)
        edges.append(rows_at)
        totals += np.diff(rows_at)
    return TimeBlocks(tuple(edges), totals)


def positions(series: Sequence[CpuSeries], events: Sequence[Int64s]) -> Int64s:
    """Places of events in the sequence of all rows ordered by due time, int64, sorted.

    Rows due at the same time are ordered by series. events: for each series its rows, int64.
    """
    places: list[Int64s] = []
    for own, (cpu, index) in enumerate(zip(series, events, strict=True)):
        due_ns = cpu.due_of(index)
        place = index.astype(np.int64)
        for other, neighbour in enumerate(series):
            if other != own:
                # The neighbour's rows that are due earlier, or equally early in a lower series.
                place += neighbour.rows_due(due_ns + 1 if other < own else due_ns)
        places.append(place)
    if not places:
        return np.empty(0, dtype=np.int64)
    return np.sort(np.concatenate(places), kind="stable")


def latencies(cpu: CpuSeries, first: int, end: int) -> Int64s:
    """Return the latencies of rows first to end - 1, int64 ns: of so few that memory has room."""
    parts = [latency_ns for latency_ns, _ in cpu.chunks(first, end)]
    return parts[0] if len(parts) == 1 else np.concatenate([*parts, np.empty(0, np.int64)])
