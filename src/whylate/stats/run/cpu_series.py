"""Series of activations, one per CPU, on one axis of time.

A stall of the host hits all CPUs at once. What counts events in time therefore counts them over
all series together, in the order in which they were due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from whylate.stats.arrays import Bools, Int64s


class CpuSeries(Protocol):
    """Activations of one CPU in the order of their due times, on a clock that all series share.

    latency_ns: int64, shape (n,). overrun: bool, shape (n,), True where latency_ns is only a lower
    bound. Due times come from a schedule or are stored; both are read by row.
    """

    @property
    def latency_ns(self) -> Int64s:
        """From due to run, ns; for an overrun at least that."""

    @property
    def overrun(self) -> Bools:
        """True where latency_ns is a lower bound."""

    @property
    def watched_ns(self) -> int:
        """Time that the activations stand for, ns."""

    @property
    def per_s(self) -> float:
        """Activations that come each second; 0 where there were none."""

    def due_of(self, rows: Int64s) -> Int64s:
        """Return when the activations in these rows were due, int64 ns, in the rows' shape."""

    def rows_due(self, times_ns: Int64s) -> Int64s:
        """Return the first row that was due at or after each time, int64; n where none was."""


def rows(series: Sequence[CpuSeries]) -> int:
    """Activations in all series together."""
    return sum(len(cpu.latency_ns) for cpu in series)


def observed_s(series: Sequence[CpuSeries]) -> float:
    """Time that was watched, s: the mean over the series."""
    if not series:
        return 0.0
    return sum(cpu.watched_ns for cpu in series) / len(series) / 1e9


def due_span(series: Sequence[CpuSeries]) -> tuple[int, int] | None:
    """Return when the first and the last activation of any series were due; None without a row."""
    ends = [
        cpu.due_of(np.array([0, len(cpu.latency_ns) - 1])) for cpu in series if cpu.latency_ns.size
    ]
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

    def count(self, events: Sequence[Bools]) -> Int64s:
        """Events of all series in each block, int64, shape (blocks,).

        events: for each series bool, shape (n,).
        """
        counts = np.zeros(len(self.totals), dtype=np.int64)
        for edges, mask in zip(self.edges, events, strict=True):
            counts += np.diff(np.searchsorted(np.flatnonzero(mask), edges))
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


def positions(series: Sequence[CpuSeries], events: Sequence[Bools]) -> Int64s:
    """Places of events in the sequence of all rows ordered by due time, int64, sorted.

    Rows due at the same time are ordered by series. events: for each series bool, shape (n,).
    """
    places: list[Int64s] = []
    for own, (cpu, mask) in enumerate(zip(series, events, strict=True)):
        index = np.flatnonzero(mask)
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
