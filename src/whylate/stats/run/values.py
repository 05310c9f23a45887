"""Latencies counted by value: exact, in order of size, and small however long the run.

Nanoseconds of one run repeat: ten hours of them have some hundred thousand distinct values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.stats.arrays import Floats, Int64s

#: Values that have a counter each: from just below zero to a millisecond. Others are sorted.
_LOWEST_NS, _END_NS = -(1 << 16), 1 << 20
#: Fewer latencies than this are sorted: the counters would take longer.
_FEW = 1 << 17
#: Values beyond the counters that wait to be sorted.
_MOST_WAITING = 1 << 20


@dataclass(frozen=True)
class Values:
    """The distinct values of n latencies.

    value_ns: int64, shape (k,), strictly ascending. ends: int64, shape (k,): how many latencies
    are at most that large; the last is n.
    """

    value_ns: Int64s
    ends: Int64s

    @property
    def n(self) -> int:
        """Latencies."""
        return int(self.ends[-1]) if self.ends.size else 0

    @property
    def counts(self) -> Int64s:
        """How many latencies have each value, int64, shape (k,), each at least 1."""
        return np.diff(self.ends, prepend=0)

    def at(self, index: int) -> int:
        """Return the order statistic, ns; index counts from 0, and is below n."""
        return int(self.value_ns[np.searchsorted(self.ends, index, side="right")])

    def part(self, first: int, end: int) -> Int64s:
        """Return the order statistics first to end - 1, int64 ns, ascending."""
        inside = np.clip(self.ends, first, end)
        counts = np.diff(inside, prepend=first)
        return np.repeat(self.value_ns, counts)

    def stretches(self, first: int, end: int) -> tuple[Int64s, Int64s]:
        """Return the values of the order statistics first to end - 1, and where each ends.

        Equal ones are one value; the ends count from 0, and the last is `end`.
        """
        left, right = np.searchsorted(self.ends, [first, end - 1], side="right")
        return self.value_ns[left : right + 1], np.minimum(self.ends[left : right + 1], end)

    def below(self, limits_ns: Int64s | Floats) -> Int64s:
        """Return how many latencies are below each limit, int64, in the limits' shape."""
        before = np.concatenate((np.zeros(1, np.int64), self.ends))
        count: Int64s = before[np.searchsorted(self.value_ns, limits_ns)]
        return count

    def count_below(self, limit_ns: int) -> int:
        """Return how many latencies are below a limit."""
        return int(self.below(np.array([limit_ns]))[0])


def count_values(latency_ns: Int64s) -> Values:
    """Count latencies in any order; int64 ns, shape (n,)."""
    counter = ValueCounter()
    counter.add(latency_ns)
    return counter.values()


def merge_values(parts: Sequence[Values]) -> Values:
    """Return the values of all parts together."""
    if len(parts) == 1:
        return parts[0]
    return _summed([part.value_ns for part in parts], [part.counts for part in parts])


def without(values: Values, taken: Values) -> Values:
    """Return values less those of some of the same latencies."""
    counts = values.counts
    counts[np.searchsorted(values.value_ns, taken.value_ns)] -= taken.counts
    left = counts > 0
    return Values(values.value_ns[left], np.cumsum(counts[left]))


class ValueCounter:
    """Counts latencies as they come. Memory: 16 bytes a distinct value, and 20 MB at the most."""

    def __init__(self) -> None:
        self._counters: NDArray[np.int64] | None = None
        self._waiting: list[Int64s] = []
        self._waiting_n = 0
        self._counted: list[Values] = []

    def add(self, latency_ns: Int64s) -> None:
        """Add latencies, int64 ns, shape (n,)."""
        if self._counters is None and self._waiting_n + latency_ns.size <= _FEW:
            self._wait(latency_ns)
            return
        if self._counters is None:
            self._counters = np.zeros(_END_NS - _LOWEST_NS, np.int64)
        index = latency_ns - _LOWEST_NS
        if latency_ns.size and (index.min() < 0 or index.max() >= self._counters.size):
            inside = (index >= 0) & (index < self._counters.size)
            self._wait(latency_ns[~inside])
            index = index[inside]
        np.add.at(self._counters, index, 1)

    def values(self) -> Values:
        """Return what was counted so far."""
        self._count_waiting()
        parts = list(self._counted)
        if self._counters is not None:
            index = np.flatnonzero(self._counters)
            parts.append(Values(index + _LOWEST_NS, np.cumsum(self._counters[index])))
        return merge_values(parts) if parts else Values(*np.empty((2, 0), np.int64))

    def _wait(self, latency_ns: Int64s) -> None:
        # A copy: what is added may be a part of a larger array.
        self._waiting.append(latency_ns.copy())
        self._waiting_n += latency_ns.size
        if self._waiting_n >= _MOST_WAITING:
            self._count_waiting()

    def _count_waiting(self) -> None:
        if not self._waiting_n:
            return
        value_ns, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
        counted = Values(value_ns, np.cumsum(counts))
        self._counted = [merge_values([*self._counted, counted])]
        self._waiting.clear()
        self._waiting_n = 0


def _summed(value_ns: Sequence[Int64s], counts: Sequence[Int64s]) -> Values:
    if not any(part.size for part in value_ns):
        return Values(*np.empty((2, 0), np.int64))
    together, count = np.concatenate(value_ns), np.concatenate(counts)
    # The stable sort finds the sorted stretches and merges them.
    order = np.argsort(together, kind="stable")
    together, count = together[order], count[order]
    first = np.flatnonzero(np.concatenate(([True], together[1:] != together[:-1])))
    return Values(together[first], np.cumsum(np.add.reduceat(count, first)))
