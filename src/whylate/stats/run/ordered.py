"""Latencies in order of size, twice: each at the least and at the most that it can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Int64s
from whylate.stats.run.cpu_series import CpuSeries


@dataclass(frozen=True)
class Ordered:
    """Sorted latencies of one or more series.

    bound_ns: int64, shape (n,), ascending; overruns stand at their lower bound.
    known_ns: int64, shape (n - overruns,), ascending; overruns left out. As they count as
    infinite they come after its end. Where rows are known by two bounds, bound_ns has the lower
    ones and known_ns the upper ones.
    """

    bound_ns: Int64s
    known_ns: Int64s

    @property
    def n(self) -> int:
        """Activations, overruns included."""
        return len(self.bound_ns)

    @property
    def overruns(self) -> int:
        """Activations known only by a lower bound."""
        return len(self.bound_ns) - len(self.known_ns)

    def at_least(self, index: int) -> int:
        """Smallest value that the order statistic can have, ns; index counts from 0."""
        return int(self.bound_ns[index])

    def at_most(self, index: int) -> int | None:
        """Largest value that the order statistic can have, ns; None: no bound."""
        return int(self.known_ns[index]) if index < len(self.known_ns) else None

    def largest_ns(self, count: int) -> Int64s:
        """Return the largest ones, overruns at their bound, ascending, shape (count,)."""
        return self.bound_ns[-count:]

    def largest_known_ns(self, count: int) -> Int64s:
        """Return the largest of those that are no overruns, ascending, shape (count,)."""
        return self.known_ns[-count:]

    def stretches(self, first: int, end: int) -> tuple[Int64s, Int64s]:
        """Return the values of the order statistics first to end - 1, and where each ends.

        The ends count from 0: one more than its index. Overruns stand at their bound.
        """
        return self.bound_ns[first:end], np.arange(first + 1, end + 1)

    def exceeded_by(self, events: int) -> int:
        """Value that about this many rows exceed, ns, overruns at their bound; 0 < events < n.

        Where rows tie at it (a coarse clock) and it would leave less than half of them, the
        ties are let in as far as they make it at most four times as many.
        """
        value_ns = self.at_least(self.n - 1 - events)
        first, end = np.searchsorted(self.bound_ns, [value_ns, value_ns + 1])
        too_few = 2 * (self.n - end) < events
        return value_ns - 1 if too_few and self.n - first <= 4 * events else value_ns


def sort_series(cpu: CpuSeries, most: CpuSeries | None = None) -> Ordered:
    """Sort one series: O(n log n) time, 8 bytes a row, 16 where there are overruns.

    most: the same rows at the most that each can be, where that is not what series has.
    """
    bound_ns = np.sort(cpu.latency_ns)
    if most is None and not cpu.overrun.any():
        return Ordered(bound_ns, bound_ns)
    most = cpu if most is None else most
    return Ordered(bound_ns, np.sort(most.latency_ns[~most.overrun]))


def merge_ordered(parts: Sequence[Ordered]) -> Ordered:
    """All series together, from the sorted series: linear time."""
    if len(parts) == 1:
        return parts[0]
    bound_ns = _merged([part.bound_ns for part in parts])
    if all(part.known_ns is part.bound_ns for part in parts):
        return Ordered(bound_ns, bound_ns)
    return Ordered(bound_ns, _merged([part.known_ns for part in parts]))


def _merged(sorted_ns: Sequence[Int64s]) -> Int64s:
    if not sorted_ns:
        return np.empty(0, dtype=np.int64)
    together = np.concatenate(sorted_ns)
    # The stable sort finds the sorted stretches and merges them.
    together.sort(kind="stable")
    return together
