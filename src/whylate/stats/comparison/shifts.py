"""By how much do two sets of runs differ, with an interval that supposes no distribution.

The estimates of Hodges and Lehmann (1963), Ann. Math. Statist. 34: in pairs the median of the Walsh
averages, whose interval inverts Wilcoxon's signed-rank test; else the median of all differences,
whose interval inverts the test of Mann and Whitney. Both with the exact distribution of the test;
of more than 60 on a side it is as good as normal, and the differences are too many to write down.
Of logarithms they are ratios. They speak about runs like these, not about any one of them. Of a few
repetitions the median has an interval by the same means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from whylate.stats.arrays import Floats
from whylate.stats.limits import normal

#: So many values on a side have the exact distribution of the test: it takes the fourth power.
_EXACT = 60


#: Gives a value by its rank: the smallest has the rank 1.
_Ranked = Callable[[int], float]


@dataclass(frozen=True)
class Estimate:
    """A median with its interval; low and high are None where the values are too few for one."""

    value: float
    low: float | None
    high: float | None

    def within(self, margin: float) -> bool:
        """Whether the whole interval lies between -margin and margin."""
        if self.low is None or self.high is None:
            return False
        return -margin < self.low and self.high < margin


def median_interval(values: Sequence[float] | Floats, level: float = 0.95) -> Estimate:
    """Return the median of independent values between two order statistics.

    The interval holds the distribution's median with at least that level, whatever it is (Thompson
    1936, Annals of Mathematical Statistics 7): as many values lie below the median as heads fall in
    n throws of a coin. 6 values are the least for 95 %. Raises ValueError for none.
    """
    from scipy.special import bdtr

    n = len(values)
    if not n:
        raise ValueError("no values have no median")
    below = bdtr(np.arange(n // 2), n, 0.5)
    return _estimate(_listed(np.asarray(values)), n, int((2 * below <= 1 - level).sum()))


def paired_shift(differences: Floats, confidence: float = 0.95) -> Estimate:
    """Return the typical difference within pairs; shape (pairs,), at least one."""
    n = len(differences)
    count, tail = n * (n + 1) // 2, (1 - confidence) / 2
    if n <= _EXACT:
        first, second = np.triu_indices(n)
        middles = (differences[first] + differences[second]) / 2
        return _estimate(_listed(middles), count, _cut(_signed_rank_counts(n), tail))
    values = np.sort(differences)

    def at_most(value: float) -> int:
        both = int(np.searchsorted(values, 2 * value - values, "right").sum())
        return (both + int(np.searchsorted(values, value, "right"))) // 2

    cut = _normal_cut(count / 2, n * (n + 1) * (2 * n + 1) / 24, tail)
    return _estimate(_counted(at_most, float(values[0]), float(values[-1])), count, cut)


def unpaired_shift(first: Floats, second: Floats, confidence: float = 0.95) -> Estimate:
    """Return the typical difference between sets of runs; shapes (runs,), at least one each."""
    m, n = len(first), len(second)
    tail = (1 - confidence) / 2
    if max(m, n) <= _EXACT:
        apart = (second[None, :] - first[:, None]).ravel()
        return _estimate(_listed(apart), m * n, _cut(_rank_sum_counts(m, n), tail))
    ours, theirs = np.sort(first), np.sort(second)

    def at_most(value: float) -> int:
        return int(np.searchsorted(theirs, ours + value, "right").sum())

    ranked = _counted(at_most, float(theirs[0] - ours[-1]), float(theirs[-1] - ours[0]))
    return _estimate(ranked, m * n, _normal_cut(m * n / 2, m * n * (m + n + 1) / 12, tail))


def _estimate(ranked: _Ranked, count: int, cut: int) -> Estimate:
    """Return median and interval, which leaves out cut - 1 values at each end; 0: there is none."""
    middle = (count + 1) // 2
    value = (ranked(middle) + ranked(count + 1 - middle)) / 2
    if cut == 0:
        return Estimate(value, None, None)
    return Estimate(value, ranked(cut), ranked(count + 1 - cut))


def _listed(values: Floats) -> _Ranked:
    ascending = np.sort(values)
    return lambda rank: float(ascending[rank - 1])


def _counted(at_most: Callable[[float], int], lowest: float, highest: float) -> _Ranked:
    """Find values, too many to list, by halves, as exactly as numbers are.

    at_most: how many values are no larger than this.
    """

    def ranked(rank: int) -> float:
        low, high = lowest, highest
        if at_most(low) >= rank:
            return low
        while (middle := (low + high) / 2) not in (low, high):
            low, high = (low, middle) if at_most(middle) >= rank else (middle, high)
        return high

    return ranked


def _normal_cut(mean: float, variance: float, tail: float) -> int:
    """Return about the largest k with P(statistic < k) <= tail, of many values.

    By the normal distribution, with half of a step between two values of the statistic.
    """
    return max(0, math.floor(mean + normal(tail) * math.sqrt(variance) + 0.5))


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
