"""What a treatment adds to a quantile, where one run has stretches of time with it and without.

The run is cut into groups of blocks; in each group some blocks, drawn at random, are without it.
A drift that is slow against a group is in both alike, and cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from whylate.stats.comparison.run_statistics import Statistic, statistic_of
from whylate.stats.limits import student_t
from whylate.stats.run.ordered import Ordered, merge_ordered
from whylate.stats.run.values import without

LEVEL = 0.95
#: Fewer groups do not say how much the quantiles vary from one to the next.
FEWEST_GROUPS = 8


@dataclass(frozen=True)
class Bounded:
    """An estimate with its interval at 95 %."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Added:
    """A quantile with the treatment and without, ns; their difference, ns, and their ratio."""

    treated_ns: float
    untreated_ns: float
    difference_ns: Bounded
    ratio: Bounded


@dataclass(frozen=True)
class Group:
    """The latencies of one group of blocks, in stretches with the treatment and without."""

    treated: Ordered
    untreated: Ordered


def estimate_added(groups: Sequence[Group], statistic: Statistic) -> Added | None:
    """Return what the treatment adds to a quantile of all groups together.

    Each side is the quantile of all its latencies (after Harrell and Davis). The interval is that
    of the jackknife over whole groups, with Student's t of one degree less than groups: samples of
    a group depend on each other, and those of its two sides on the same drift.
    Biased where time with the treatment is not drawn at random within its group. Refused, None:
    with fewer than FEWEST_GROUPS groups, with too few latencies of a side for the statistic, where
    overruns reach into the quantile, and where a quantile is not above zero.
    """
    count = len(groups)
    if count < FEWEST_GROUPS:
        return None
    treated = merge_ordered([group.treated for group in groups])
    untreated = merge_ordered([group.untreated for group in groups])
    whole = _sides(treated, untreated, statistic)
    if whole is None:
        return None
    differences, ratios = [], []
    for group in groups:
        left = _sides(_less(treated, group.treated), _less(untreated, group.untreated), statistic)
        if left is None:
            return None
        differences.append(left[0] - left[1])
        ratios.append(math.log(left[0] / left[1]))
    difference = whole[0] - whole[1]
    ratio = math.log(whole[0] / whole[1])
    spread = student_t(0.5 + LEVEL / 2, count - 1)
    by, times = spread * _error(differences), spread * _error(ratios)
    return Added(
        treated_ns=whole[0],
        untreated_ns=whole[1],
        difference_ns=Bounded(difference, difference - by, difference + by),
        ratio=Bounded(math.exp(ratio), math.exp(ratio - times), math.exp(ratio + times)),
    )


def _sides(
    treated: Ordered, untreated: Ordered, statistic: Statistic
) -> tuple[float, float] | None:
    values = statistic_of(treated, statistic), statistic_of(untreated, statistic)
    if values[0] is None or values[1] is None or values[0].at_least or values[1].at_least:
        return None
    return math.exp(values[0].compared), math.exp(values[1].compared)


def _less(whole: Ordered, group: Ordered) -> Ordered:
    bound = without(whole.bound, group.bound)
    if whole.known is whole.bound:
        return Ordered(bound, bound)
    return Ordered(bound, without(whole.known, group.known))


def _error(estimates: Sequence[float]) -> float:
    """Return the jackknife's standard error, each estimate being without one group.

    Efron and Tibshirani (1993), An Introduction to the Bootstrap, equation 11.5.
    """
    count = len(estimates)
    mean = math.fsum(estimates) / count
    return math.sqrt(
        (count - 1) / count * math.fsum((estimate - mean) ** 2 for estimate in estimates)
    )
