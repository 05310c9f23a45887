"""By how much do two sets of runs differ, with an interval that supposes no distribution.

The estimates of Hodges and Lehmann (1963), Ann. Math. Statist. 34: in pairs the median of the Walsh
averages, whose interval inverts Wilcoxon's signed-rank test; else the median of all differences,
whose interval inverts the test of Mann and Whitney. Both with the exact distribution of the test;
of more than 60 on a side it is as good as normal, and the differences are too many to write down.
Of logarithms they are ratios. They speak about runs like these, not about any one of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

Floats = NDArray[np.float64]


#: So many values on a side have the exact distribution of the test: it takes the fourth power.
_EXACT = 60


@dataclass(frozen=True)
class Shift:
    """From the first to the second; low and high are None where the runs are too few."""

    value: float
    low: float | None
    high: float | None

    def within(self, margin: float) -> bool:
        """Whether the whole interval lies between -margin and margin."""
        if self.low is None or self.high is None:
            return False
        return -margin < self.low and self.high < margin


def paired_shift(differences: Floats, confidence: float = 0.95) -> Shift:
    """Return the typical difference within pairs; shape (pairs,), at least one."""
    n = len(differences)
    tail = (1 - confidence) / 2
    if n > _EXACT:
        mean, variance = n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24
        return _shift(_Middles(differences), _normal_cut(mean, variance, tail))
    first, second = np.triu_indices(n)
    middles = np.sort((differences[first] + differences[second]) / 2)
    return _shift(_Listed(middles), _cut(_signed_rank_counts(n), tail))


def unpaired_shift(first: Floats, second: Floats, confidence: float = 0.95) -> Shift:
    """Return the typical difference between sets of runs; shapes (runs,), at least one each."""
    m, n = len(first), len(second)
    tail = (1 - confidence) / 2
    if max(m, n) > _EXACT:
        cut = _normal_cut(m * n / 2, m * n * (m + n + 1) / 12, tail)
        return _shift(_Differences(first, second), cut)
    apart = np.sort((second[None, :] - first[:, None]).ravel())
    return _shift(_Listed(apart), _cut(_rank_sum_counts(m, n), tail))


class _Ordered(Protocol):
    """Values that can be had by their rank, the smallest has the rank 1."""

    count: int

    def ranked(self, rank: int) -> float:
        """Return the value of a rank."""


def _shift(values: _Ordered, cut: int) -> Shift:
    """Return median and interval, which leaves out cut - 1 values at each end; 0: there is none."""
    middle = (values.count + 1) // 2
    value = (values.ranked(middle) + values.ranked(values.count + 1 - middle)) / 2
    if cut == 0:
        return Shift(value, None, None)
    return Shift(value, values.ranked(cut), values.ranked(values.count + 1 - cut))


class _Listed:
    """Values that are written down, in order."""

    def __init__(self, ascending: Floats) -> None:
        self._ascending = ascending
        self.count = len(ascending)

    def ranked(self, rank: int) -> float:
        """Return the value of a rank."""
        return float(self._ascending[rank - 1])


class _Counted:
    """Too many values to list; they can be counted up to a limit."""

    count: int
    _low: float
    _high: float

    def _at_most(self, value: float) -> int:
        raise NotImplementedError

    def ranked(self, rank: int) -> float:
        """Return the value of a rank, by halves, as exactly as numbers are."""
        low, high = self._low, self._high
        if self._at_most(low) >= rank:
            return low
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (low, middle) if self._at_most(middle) >= rank else (middle, high)
        return high


class _Differences(_Counted):
    """All differences between values of two sets."""

    def __init__(self, first: Floats, second: Floats) -> None:
        self._first, self._second = first, np.sort(second)
        self.count = len(first) * len(second)
        self._low = float(self._second[0] - first.max())
        self._high = float(self._second[-1] - first.min())

    def _at_most(self, value: float) -> int:
        return int(np.searchsorted(self._second, self._first + value, "right").sum())


class _Middles(_Counted):
    """The means of all pairs of values, of each with itself too (Walsh)."""

    def __init__(self, values: Floats) -> None:
        self._values = np.sort(values)
        self.count = len(values) * (len(values) + 1) // 2
        self._low, self._high = float(self._values[0]), float(self._values[-1])

    def _at_most(self, value: float) -> int:
        both = int(np.searchsorted(self._values, 2 * value - self._values, "right").sum())
        return (both + int(np.searchsorted(self._values, value, "right"))) // 2


def _normal_cut(mean: float, variance: float, tail: float) -> int:
    """Return about the largest k with P(statistic < k) <= tail, of many values.

    By the normal distribution, with half of a step between two values of the statistic.
    """
    return max(0, math.floor(mean + float(ndtri(tail)) * math.sqrt(variance) + 0.5))


def _cut(counts: tuple[int, ...], tail: float) -> int:
    """Return the largest k with P(statistic < k) <= tail; 0: even its least value is too likely."""
    total = sum(counts)
    below = 0
    for k, count in enumerate(counts):
        below += count
        if below > tail * total:
            return k
    return 0


@cache
def _signed_rank_counts(n: int) -> tuple[int, ...]:
    """How many of the 2^n signs have each sum of positive ranks, 0 … n (n + 1) / 2.

    The coefficients of the product of 1 + x^rank over the ranks.
    """
    ways = _first_of(n * (n + 1) // 2 + 1)
    for rank in range(1, n + 1):
        ways[rank:] += ways[:-rank].copy()
    return tuple(ways)


@cache
def _rank_sum_counts(m: int, n: int) -> tuple[int, ...]:
    """How many of the orders of m and n values have each number of inversions, 0 … m n.

    The coefficients of the Gaussian binomial (m + n over m): the product of
    (1 - x^(n + k)) / (1 - x^k) for k from 1 to m.
    """
    ways = _first_of(m * n + 1)
    for k in range(1, m + 1):
        ways[n + k :] -= ways[: -(n + k)].copy()
        for start in range(k):
            ways[start::k] = np.cumsum(ways[start::k])
    return tuple(ways)


def _first_of(size: int) -> NDArray[np.object_]:
    """Return the polynomial 1, with exact integers as coefficients."""
    ways = np.zeros(size, object)
    ways[0] = 1
    return ways
