"""Several runs of the same plan taken together: the run is the unit, its figures the values."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from scipy.stats import binom

from whylate.summary.model import Summary

#: What is pooled, in the order in which it is shown.
NAMES = ("p50", "p99", "p99.9", "p99.99", "max")
LEVEL = 0.95


class Pooled(msgspec.Struct, frozen=True):
    """One figure over the runs. low, high: None where there are too few runs for an interval."""

    name: str
    #: The figure of each run, in ns; runs that refused it are left out.
    values_ns: list[int]
    median_ns: float
    low_ns: int | None
    high_ns: int | None


def pool(summaries: Sequence[Summary]) -> list[Pooled]:
    """Return each figure's median over the runs, with an interval for it.

    The interval is that of order statistics (David and Nagaraja, Order Statistics, 7.1): with n
    runs, [x(k), x(n+1-k)] for the largest k that keeps 95 %; below six runs there is none. It
    speaks of runs like these: other phases and seeds of the same virtual board.
    """
    found = []
    for name in NAMES:
        values = sorted(
            estimate.value
            for one in summaries
            if (estimate := one.together.latency_ns.get(name)) is not None
            and estimate.value is not None
        )
        if values:
            low, high = _interval(values)
            found.append(Pooled(name, [int(v) for v in values], _median(values), low, high))
    return found


def _median(values: Sequence[float]) -> float:
    middle = len(values) // 2
    if len(values) % 2:
        return values[middle]
    return (values[middle - 1] + values[middle]) / 2


def _interval(values: Sequence[float]) -> tuple[int | None, int | None]:
    n = len(values)
    # P(fewer than k of n lie below the median) must be at most half of what may go wrong.
    k = int(binom.ppf((1 - LEVEL) / 2, n, 0.5))
    while k > 0 and binom.cdf(k - 1, n, 0.5) > (1 - LEVEL) / 2:
        k -= 1
    if k < 1:
        return None, None
    return int(values[k - 1]), int(values[n - k])
