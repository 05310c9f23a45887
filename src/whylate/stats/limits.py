"""Exact limits for counts, from the special functions alone (scipy.stats is slow to import)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence


def binomial_limits(events: float, n: float, confidence: float) -> tuple[float, float]:
    """Two-sided limits for a probability, after Clopper and Pearson (1934), Biometrika 26.

    events and n may be fractions: effective counts, after Korn and Graubard (1998), Survey
    Methodology 24. Conservative: covers at least `confidence` for whole independent counts.
    """
    from scipy.special import betaincinv

    alpha = (1 - confidence) / 2
    low = float(betaincinv(events, n - events + 1, alpha)) if events > 0 else 0.0
    high = float(betaincinv(events + 1, n - events, 1 - alpha)) if events < n else 1.0
    return low, high


def poisson_low(events: float, confidence: float) -> float:
    """Lower one-sided limit for the mean of a Poisson count (Garwood 1936, Biometrika 28)."""
    from scipy.special import gammaincinv

    return float(gammaincinv(events, 1 - confidence)) if events > 0 else 0.0


def poisson_high(events: float, confidence: float) -> float:
    """Upper one-sided limit for the mean of a Poisson count (Garwood 1936, Biometrika 28).

    With no event at 95 %: -ln(0.05) = 2.996, the "rule of three".
    """
    from scipy.special import gammaincinv

    return float(gammaincinv(events + 1, confidence))


def student_t(probability: float, degrees: float) -> float:
    """Quantile of Student's t; degrees of freedom may be a fraction, at least 1."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def normal(probability: float) -> float:
    """Quantile of the normal distribution."""
    from scipy.special import ndtri

    return float(ndtri(probability))


def student_p(t: float, degrees: float) -> float:
    """Two-sided p-value of Student's t; degrees of freedom at least 1."""
    from scipy.special import stdtr

    return 2 * float(stdtr(degrees, -abs(t)))


def fishers_p(p_values: Sequence[float]) -> float:
    """Combine independent p-values: the chance that their product is as small as it is.

    -2 times the sum of their logarithms is chi-square with twice as many degrees of freedom
    (Fisher 1932, Statistical Methods for Research Workers, 4th edition, section 21.1). 1 without
    any.
    """
    from scipy.special import chdtrc

    if not p_values:
        return 1.0
    if min(p_values) <= 0:
        return 0.0
    return float(chdtrc(2 * len(p_values), -2 * sum(math.log(p_value) for p_value in p_values)))


def another_count(count: int, confidence: float) -> tuple[int, int]:
    """Return between which numbers another count lies, of events that come as often as these did.

    Both are counts of a Poisson process in times as long as each other: of their sum each has a
    binomial part of one half, and the limits are the least and the most that a two-sided test of
    that does not reject (Hahn and Meeker 1991, Statistical Intervals, chapter 7). They hold at
    least as often as the confidence says. Raises ValueError for a negative count.
    """
    from scipy.special import bdtr

    if count < 0:
        raise ValueError("a count is at least 0")
    tail = (1 - confidence) / 2

    def fits(least: int, most: int) -> bool:
        return float(bdtr(least, least + most, 0.5)) > tail

    # It fits less the further away: up to what the last step went over is looked at.
    beyond = next(
        step for step in (1 << power for power in range(64)) if not fits(count, count + step)
    )
    numbers = range(count, count + beyond + 1)
    high = count + bisect_left(numbers, True, key=lambda other: not fits(count, other)) - 1
    low = bisect_left(range(count + 1), True, key=lambda other: fits(other, count))
    return low, high
