"""Are runs like each other? One number of each run, in the order in which they were made.

The same test may come out in several groups of runs, by boot or placement. A gap between two groups
is looked at on the scale of the spread within them. What normal values of one group give by chance,
simulation tells: the statistic has no unit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from whylate.stats.arrays import Bools, Floats, Int64s
from whylate.stats.limits import student_p
from whylate.stats.run.drift import kendall_p

#: Logarithms that differ by less are of no interest, however surely they do.
_MATTERS = 0.02
#: Fewer runs show no groups.
FEWEST = 6
#: Each group has so many of them.
_SMALLEST = 2
_SIMULATED = 20_000
_SEED = 20


@dataclass(frozen=True)
class Heterogeneity:
    """What runs show that are not like each other, and of which of their numbers."""

    statistic: str
    what: Literal["trend", "groups", "outlier"]


def heterogeneity_test(
    name: str, logs: Sequence[float], of_trend: float, of_groups: float
) -> Heterogeneity | None:
    """Return what sets runs apart in one of their numbers; None where nothing does.

    logs: its logarithm, of each run in order of time; four runs at least. Kendall's test looks
    for a trend from run to run at the level of_trend; two more, at of_groups each, for two groups
    with a gap between them, and for a run far from the others. Runs that merely differ, by more
    than their activations would make them differ, are like each other: the jackknife allows for
    that.
    """
    values = np.asarray(logs, float)
    third = max(1, len(values) // 3)
    moved = float(values[-third:].mean() - values[:third].mean())
    if abs(moved) > _MATTERS and kendall_p(values, independent=True) < of_trend:
        return Heterogeneity(name, "trend")
    modes = modes_test(values, of_groups)
    if modes is not None and modes.high - modes.low > _MATTERS:
        return Heterogeneity(name, "groups")
    if np.ptp(values) > _MATTERS and outlier_p(logs) < of_groups:
        return Heterogeneity(name, "outlier")
    return None


def outlier_p(values: Sequence[float]) -> float:
    """Return the p-value of the value furthest from the others belonging to them.

    Grubbs (1950, Annals of Mathematical Statistics 21), by Bonferroni over the values: of normal
    values, of which three at least. 1.0 where all are equal.
    """
    n = len(values)
    array = np.asarray(values, float)
    spread = float(array.std(ddof=1))
    if spread == 0:
        return 1.0
    furthest = float(np.abs(array - array.mean()).max()) / spread
    left = (n - 1) ** 2 / n - furthest**2
    if left <= 0:
        return 0.0
    t = furthest * math.sqrt((n - 2) / left)
    return min(1.0, n * student_p(t, n - 2))


@dataclass(frozen=True)
class Modes:
    """Two groups of runs. upper: which runs are in the higher one, bool, shape (runs,)."""

    upper: Bools
    low: float
    high: float
    p: float


def modes_test(values: Floats, alpha: float = 0.01) -> Modes | None:
    """Return two groups of values, shape (runs,), or None where one group would give as much.

    Values that are all but equal within a group are taken as spread by a millionth.
    """
    n = len(values)
    if n < FEWEST:
        return None
    order = np.argsort(values, kind="stable")
    score, cut = _split(values[order][None, :])
    p = (1 + np.count_nonzero(_by_chance(n) >= score[0])) / (1 + _SIMULATED)
    if p > alpha:
        return None
    upper = np.zeros(n, bool)
    upper[order[cut[0] :]] = True
    return Modes(upper, float(values[~upper].mean()), float(values[upper].mean()), float(p))


def _split(ascending: Floats) -> tuple[Floats, Int64s]:
    """Return for each row the largest part of its variance that a cut into two explains.

    ascending: shape (rows, n). With it: where the upper group begins.
    """
    n = ascending.shape[1]
    centred = ascending - ascending.mean(axis=1, keepdims=True)
    total = (centred**2).sum(axis=1)
    size = np.arange(_SMALLEST, n - _SMALLEST + 1)
    sums = np.cumsum(centred, axis=1)[:, size - 1]
    between = sums**2 * n / (size * (n - size))
    best = between.argmax(axis=1)
    part = np.take_along_axis(between, best[:, None], axis=1)[:, 0]
    within = np.maximum(total - part, total * 1e-12)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(part / within), size[best]


@cache
def _by_chance(n: int) -> Floats:
    rng = np.random.default_rng([_SEED, n])
    return _split(np.sort(rng.standard_normal((_SIMULATED, n)), axis=1))[0]
