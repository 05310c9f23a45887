"""Several runs of the same plan taken together: the run is the unit, its figures the values."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import msgspec

from whylate.stats.comparison.shifts import median_interval
from whylate.summary.model import Summary

#: What is pooled, in the order in which it is shown.
NAMES = ("p50", "p99", "p99.9", "p99.99", "max")
LEVEL = 0.95


class PooledFigure(msgspec.Struct, frozen=True):
    """One figure over the runs. low, high: None where there are too few runs for an interval."""

    name: str
    #: The figure of each run, in ns, sorted; runs that refused it are left out.
    values_ns: list[int]
    median_ns: float
    low_ns: int | None
    high_ns: int | None
    #: The least value that is a lower bound of its run's figure: it, and whatever is not below
    #: it, is a lower bound. None: all values are exact.
    at_least_from_ns: int | None = None

    def at_least(self, value_ns: float) -> bool:
        """Whether a median, a limit or an extreme of the values is only a lower bound.

        A value that is in truth higher moves no order statistic that is below it.
        """
        return self.at_least_from_ns is not None and value_ns >= self.at_least_from_ns


class Pooled(msgspec.Struct, frozen=True):
    """Several runs taken together."""

    figures: list[PooledFigure]
    #: How many runs are in it.
    runs: int
    #: How many are not, because they have no verdict.
    left_out: int


def pool(summaries: Sequence[Summary]) -> Pooled:
    """Return each figure's median over the runs that can be trusted, with an interval for it.

    The interval is that of order statistics (David and Nagaraja, Order Statistics, 7.1): with n
    runs, [x(k), x(n+1-k)] for the largest k that keeps 95 %; below six runs there is none. It
    speaks of runs like these: other phases and seeds of the same virtual board.
    """
    trusted = [summary for summary in summaries if summary.trust.verdict == "ok"]
    figures = []
    for name in NAMES:
        known = [
            (int(estimate.value), estimate.at_least)
            for summary in trusted
            if (estimate := summary.together.latency_ns.get(name)) is not None
            and estimate.value is not None
        ]
        if known:
            values = sorted(value for value, _ in known)
            interval = median_interval(values, LEVEL)
            bounds = [value for value, at_least in known if at_least]
            figures.append(
                PooledFigure(
                    name,
                    values,
                    median(values),
                    _whole(interval.low),
                    _whole(interval.high),
                    min(bounds) if bounds else None,
                )
            )
    return Pooled(figures, len(trusted), len(summaries) - len(trusted))


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
