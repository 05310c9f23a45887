"""By how much do two sets of runs differ, with an interval that supposes no distribution.

The estimates of Hodges and Lehmann (1963), Ann. Math. Statist. 34: in pairs the median of the Walsh
averages, whose interval inverts Wilcoxon's signed-rank test; else the median of all differences,
whose interval inverts the test of Mann and Whitney. Both with the exact distribution of the test.
Of logarithms they are ratios. They speak about runs like these, not about any one of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
    first, second = np.triu_indices(n)
    middles = np.sort((differences[first] + differences[second]) / 2)
    return _shift(middles, _signed_rank_counts(n), confidence)


def unpaired_shift(first: Floats, second: Floats, confidence: float = 0.95) -> Shift:
    """Return the typical difference between sets of runs; shapes (runs,), at least one each."""
    apart = np.sort((second[None, :] - first[:, None]).ravel())
    return _shift(apart, _rank_sum_counts(len(first), len(second)), confidence)


def _shift(ascending: Floats, counts: tuple[int, ...], confidence: float) -> Shift:
    """Return median and interval; counts: how often each value of the test's statistic comes."""
    value = float(np.median(ascending))
    cut = _cut(counts, (1 - confidence) / 2)
    if cut == 0:
        return Shift(value, None, None)
    return Shift(value, float(ascending[cut - 1]), float(ascending[len(ascending) - cut]))


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
    """How many of the 2^n signs have each sum of positive ranks, 0 … n (n + 1) / 2."""
    ways = [1]
    for rank in range(1, n + 1):
        ways = _plus(ways, rank)
    return tuple(ways)


@cache
def _rank_sum_counts(m: int, n: int) -> tuple[int, ...]:
    """How many of the orders of m and n values have each number of inversions, 0 … m n.

    The coefficients of the Gaussian binomial (m + n over m), by multiplying and dividing.
    """
    ways = [1]
    for k in range(1, m + 1):
        ways = _divided(_times(ways, n + k), k)
    return tuple(ways)


def _plus(ways: list[int], rank: int) -> list[int]:
    """Multiply by 1 + x^rank."""
    longer = [*ways, *([0] * rank)]
    for i, count in enumerate(ways):
        longer[i + rank] += count
    return longer


def _times(ways: list[int], power: int) -> list[int]:
    """Multiply by 1 - x^power."""
    longer = [*ways, *([0] * power)]
    for i, count in enumerate(ways):
        longer[i + power] -= count
    return longer


def _divided(ways: list[int], power: int) -> list[int]:
    """Divide by 1 - x^power; it leaves no remainder."""
    shorter = list(ways)
    for i in range(power, len(shorter)):
        shorter[i] += shorter[i - power]
    while shorter and shorter[-1] == 0:
        shorter.pop()
    return shorter
