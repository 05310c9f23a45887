"""Latencies in order of size, twice: each at the least and at the most that it can be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Int64s
from whylate.stats.run.cpu_series import CpuSeries
from whylate.stats.run.values import ValueCounter, Values, merge_values, without


@dataclass(frozen=True)
class Ordered:
    """Latencies of one or more series by size.

    bound: of all rows; overruns stand at their lower bound. known: overruns left out. As they
    count as infinite they come after its end. Where rows are known by two bounds, bound has the
    lower ones and known the upper ones.
    """

    bound: Values
    known: Values

    @property
    def n(self) -> int:
        """Activations, overruns included."""
        return self.bound.n

    @property
    def overruns(self) -> int:
        """Activations known only by a lower bound."""
        return self.bound.n - self.known.n

    def at_least(self, index: int) -> int:
        """Smallest value that the order statistic can have, ns; index counts from 0."""
        return self.bound.at(index)

    def at_most(self, index: int) -> int | None:
        """Largest value that the order statistic can have, ns; None: no bound."""
        return self.known.at(index) if index < self.known.n else None

    def exceeded_by(self, events: int) -> int:
        """Value that about this many rows exceed, ns, overruns at their bound; 0 < events < n.

        Where rows tie at it (a coarse clock) and it would leave less than half of them, the
        ties are let in as far as they make it at most four times as many.
        """
        value_ns = self.at_least(self.n - 1 - events)
        first, end = self.bound.count_below(value_ns), self.bound.count_below(value_ns + 1)
        too_few = 2 * (self.n - end) < events
        return value_ns - 1 if too_few and self.n - first <= 4 * events else value_ns


def sort_series(cpu: CpuSeries, most: CpuSeries | None = None) -> Ordered:
    """Put the latencies of one series in order of size, in one pass.

    most: the same rows at the most that each can be, where that is not what series has; one more
    pass.
    """
    bound, overruns = ValueCounter(), ValueCounter()
    for latency_ns, overrun in cpu.chunks():
        bound.add(latency_ns)
        if most is None and overrun.any():
            overruns.add(latency_ns[overrun])
    values = bound.values()
    if most is None:
        taken = overruns.values()
        return Ordered(values, without(values, taken) if taken.n else values)
    known = ValueCounter()
    for latency_ns, overrun in most.chunks():
        known.add(latency_ns[~overrun])
    return Ordered(values, known.values())


def merge_ordered(parts: Sequence[Ordered]) -> Ordered:
    """All series together."""
    bound = merge_values([part.bound for part in parts])
    if all(part.known is part.bound for part in parts):
        return Ordered(bound, bound)
    return Ordered(bound, merge_values([part.known for part in parts]))


def order_counted(value_ns: Int64s, count: Int64s, overruns: int = 0) -> Ordered:
    """Return latencies that are given as values with counts.

    value_ns, count: int64, shape (k,), the values in any order, counts at least 0. overruns: so
    many more are known only to be at least the largest value.
    """
    distinct, of_value = np.unique(value_ns, return_inverse=True)
    together = np.zeros(distinct.size, np.int64)
    np.add.at(together, of_value, count)
    there = together > 0
    known = Values(distinct[there], np.cumsum(together[there]))
    if not overruns:
        return Ordered(known, known)
    end_ns = known.value_ns[-1:] if known.n else np.zeros(1, np.int64)
    return Ordered(merge_values([known, Values(end_ns, np.array([overruns]))]), known)
