"""Are runs like each other? One number of each run, in the order in which they were made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whylate.stats.comparison.modes import modes_test
from whylate.stats.limits import student_p
from whylate.stats.run.drift import kendall_p

#: Logarithms that differ by less are of no interest, however surely they do.
_MATTERS = 0.02


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
