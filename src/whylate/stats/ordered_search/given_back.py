"""Which part of the difference of GOOD and BAD is gone where BAD lacks the culprit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.limits import student_t


@dataclass(frozen=True)
class GivenBack:
    """A part of a difference, 1 for all of it, with its 95 % interval.

    low, high: None where the difference itself may be nothing, so that any part of it would fit.
    """

    part: float
    low: float | None
    high: float | None


def estimate_given_back(
    changes: Sequence[float], good: Sequence[float], bad: Sequence[float]
) -> GivenBack:
    """Return the part of BAD - GOOD by which BAD changes back without the culprit.

    changes: differences of logarithms within pairs of fresh runs, without the culprit minus with
    it. good, bad: logarithms of runs of both ends, which are independent of these. Two of each at
    least and a difference between the ends, ValueError else.

    A ratio of two independent means that are about normal, by Fieller's theorem (1954, JRSS B 16),
    with Student's t of the fewest degrees of freedom among the three: a little too wide.
    """
    least = min(len(changes), len(good), len(bad))
    gap = float(np.mean(bad) - np.mean(good)) if least else 0.0
    if least < 2 or gap == 0:
        raise ValueError("a part needs two runs of each, and ends that differ")
    back = -float(np.mean(changes))
    t2 = student_t(0.975, least - 1) ** 2
    v_back = float(np.var(changes, ddof=1)) / len(changes)
    v_gap = float(np.var(good, ddof=1)) / len(good) + float(np.var(bad, ddof=1)) / len(bad)
    a, b, c = gap * gap - t2 * v_gap, back * gap, back * back - t2 * v_back
    if a <= 0:
        return GivenBack(back / gap, None, None)
    root = math.sqrt(max(b * b - a * c, 0.0))
    return GivenBack(back / gap, (b - root) / a, (b + root) / a)
