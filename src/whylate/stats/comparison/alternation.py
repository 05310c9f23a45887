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

    Each side is the quantile of all its latencies (after Harrell and Davis), overruns at their
    bound; the interval is wider by what they may have been longer. It is that of the jackknife over
    whole groups: samples of a group depend on each other, and those of its two sides on the same
    drift. Biased where time with the treatment is not drawn at random within its group.
    Refused, None: with fewer than FEWEST_GROUPS groups, with too few latencies of a side for the
    statistic, where overruns reach into the quantile, and where a quantile is not above zero.
    """
    if len(groups) < FEWEST_GROUPS:
        return None
    treated = merge_ordered([group.treated for group in groups])
    untreated = merge_ordered([group.untreated for group in groups])
    whole = _sides(treated, untreated, statistic)
    if whole is None or math.isinf(whole.treated_more + whole.untreated_more):
        return None
    differences, ratios = [], []
    for group in groups:
        left = _sides(_less(treated, group.treated), _less(untreated, group.untreated), statistic)
        if left is None:
            return None
        differences.append(left.difference_ns)
        ratios.append(left.log_ratio)
    by, times = _half_width(differences), _half_width(ratios)
    treated_ns, untreated_ns = math.exp(whole.treated), math.exp(whole.untreated)
    return Added(
        treated_ns=treated_ns,
        untreated_ns=untreated_ns,
        difference_ns=Bounded(
            whole.difference_ns,
            whole.difference_ns - by - untreated_ns * math.expm1(whole.untreated_more),
            whole.difference_ns + by + treated_ns * math.expm1(whole.treated_more),
        ),
        ratio=Bounded(
            math.exp(whole.log_ratio),
            math.exp(whole.log_ratio - times - whole.untreated_more),
            math.exp(whole.log_ratio + times + whole.treated_more),
        ),
    )


@dataclass(frozen=True)
class _Sides:
    """Logarithms of a quantile of both sides, and by how much overruns may make each larger."""

    treated: float
    untreated: float
    treated_more: float
    untreated_more: float

    @property
    def difference_ns(self) -> float:
        return math.exp(self.treated) - math.exp(self.untreated)

    @property
    def log_ratio(self) -> float:
        return self.treated - self.untreated


def _sides(treated: Ordered, untreated: Ordered, statistic: Statistic) -> _Sides | None:
    with_it, without_it = statistic_of(treated, statistic), statistic_of(untreated, statistic)
    if with_it is None or without_it is None:
        return None
    return _Sides(
        with_it.compared,
        without_it.compared,
        with_it.most - with_it.compared,
        without_it.most - without_it.compared,
    )


def _less(whole: Ordered, group: Ordered) -> Ordered:
    bound = without(whole.bound, group.bound)
    if whole.known is whole.bound:
        return Ordered(bound, bound)
    return Ordered(bound, without(whole.known, group.known))


def _half_width(estimates: Sequence[float]) -> float:
    """Return half the width of the jackknife's interval, each estimate being without one group.

    The error is that of Efron and Tibshirani (1993), An Introduction to the Bootstrap, equation
    11.5. The degrees of freedom follow from the kurtosis of the estimates, as in
    whylate.stats.run.dependence: where a few groups move the quantile, the error is little known.
    """
    count = len(estimates)
    mean = math.fsum(estimates) / count
    squares = [(estimate - mean) ** 2 for estimate in estimates]
    total = math.fsum(squares)
    if not total:
        return 0.0
    kurtosis = math.fsum(square * square for square in squares) * count / total**2
    degrees = max(1.0, min(count - 1, 2 * count / max(kurtosis - 1, 1e-9)))
    return student_t(0.5 + LEVEL / 2, degrees) * math.sqrt((count - 1) / count * total)
