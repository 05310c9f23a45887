"""Latencies in order of size as values with counts: the size of a run costs nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whylate.stats.arrays import Int64s


@dataclass(frozen=True)
class Counted:
    """What whylate.stats.run.ordered.Ordered is, of (value, count) pairs.

    value_ns, count: int64, shape (values,), strictly ascending, counts above zero. overruns: so
    many more are known only to be at least the last value; they come after all others.
    """

    value_ns: Int64s
    count: Int64s
    overruns: int = 0

    @cached_property
    def _end(self) -> Int64s:
        """Return how many come up to each value, itself included, shape (values,)."""
        return np.cumsum(self.count)

    @property
    def known(self) -> int:
        """Activations that are known exactly."""
        return int(self._end[-1]) if self.count.size else 0

    @property
    def n(self) -> int:
        """Activations, overruns included."""
        return self.known + self.overruns

    def at_least(self, index: int) -> int:
        """Smallest value that the order statistic can have, ns; index counts from 0."""
        if index >= self.known:
            return int(self.value_ns[-1]) if self.value_ns.size else 0
        return int(self.value_ns[np.searchsorted(self._end, index, "right")])

    def at_most(self, index: int) -> int | None:
        """Largest value that the order statistic can have, ns; None: no bound."""
        return self.at_least(index) if index < self.known else None

    def below(self, limit_ns: int) -> int:
        """Return how many are below a latency, overruns at their bound."""
        if self.at_least(self.n - 1) < limit_ns:
            return self.n
        at = int(np.searchsorted(self.value_ns, limit_ns))
        return int(self._end[at - 1]) if at else 0

    def largest_ns(self, count: int) -> Int64s:
        """Return the largest ones, overruns at their bound, ascending, shape (count,)."""
        first = self.n - count
        return np.array([self.at_least(index) for index in range(first, self.n)], np.int64)

    def largest_known_ns(self, count: int) -> Int64s:
        """Return the largest of those that are no overruns, ascending, shape (count,)."""
        first = self.known - count
        return np.array([self.at_least(index) for index in range(first, self.known)], np.int64)

    def stretches(self, first: int, end: int) -> tuple[Int64s, Int64s]:
        """Return the values of the order statistics first to end - 1, and where each ends.

        Equal ones are one; the ends count from 0, and the last is `end`. Overruns stand at their
        bound.
        """
        left, right = np.searchsorted(self._end, [first, end - 1], "right")
        last = self.value_ns.size - 1
        left, right = min(int(left), last), min(int(right), last)
        ends = np.minimum(self._end[left : right + 1], end)
        ends[-1] = end
        return self.value_ns[left : right + 1], ends
