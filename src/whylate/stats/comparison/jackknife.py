"""The standard error of an estimate from several runs, by leaving out each of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whylate.stats.limits import student_p, student_t

Floats = NDArray[np.float64]


def jackknife_error(whole: float, without: Sequence[float], weight: Sequence[float]) -> float:
    """Return the standard error of an estimate from all runs.

    without: the estimate without each run; weight: what each run is worth, its length. Two runs at
    least. Variance of the pseudo-values (Tukey 1958, Annals of Mathematical Statistics 29; Miller
    1974, Biometrika 61), for runs of different weight after Busing, Meijer and van der Leeden
    (1999, Statistics and Computing 9). Whatever makes activations of one run alike is in it: only
    runs must be independent. Biased high by a little; for maxima and single order statistics it is
    wrong, and is not used.
    """
    part = np.asarray(weight, float) / np.sum(weight)
    times = 1 / part
    pseudo = times * whole - (times - 1) * np.asarray(without, float)
    centre = float((part * pseudo).sum())
    return math.sqrt(float(((pseudo - centre) ** 2 / (times - 1)).mean()))


def jackknife_t(
    whole: float,
    without: Sequence[float],
    weight: Sequence[float],
    confidence: float = 0.95,
    least_error: float = 0.0,
) -> tuple[float, float]:
    """Return the limits whole -/+ Student's t times its error, with runs - 1 degrees of freedom.

    least_error: what the error is known not to be below. Ten runs tell their error to a quarter,
    and where they make it too small the estimate is often too small too.
    """
    quantile = student_t(0.5 + confidence / 2, len(without) - 1)
    half = quantile * max(least_error, jackknife_error(whole, without, weight))
    return whole - half, whole + half


def jackknife_p(whole: float, without: Sequence[float], weight: Sequence[float]) -> float:
    """Return the two-sided p-value of the estimate being 0."""
    error = jackknife_error(whole, without, weight)
    if error == 0:
        return 1.0 if whole == 0 else 0.0
    return student_p(whole / error, len(without) - 1)
