"""A line through points by least squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats
from whylate.stats.limits import student_t

#: A line has two parameters: through fewer points than these nothing is left to judge it by.
LEAST_POINTS = 3
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Line:
    """y = intercept + slope · x, of n points; low, high: 95 % interval of the slope.

    r: Pearson's correlation of the points.
    """

    n: int
    intercept: float
    slope: float
    low: float
    high: float
    r: float


def mean_interval(x: Floats, y: Floats, at: Floats) -> tuple[Floats, Floats] | None:
    """Return the 95 % interval of a fitted line's mean at some places; None where none is fitted.

    x, y: shape (n,), as fit_line() takes them; at: shape (k,). Both ends: shape (k,). It holds
    where the deviations are independent, of equal variance, and the mean is a line.
    """
    line = fit_line(x, y)
    if isinstance(line, str):
        return None
    degrees = x.size - 2
    residual = y - (line.intercept + line.slope * x)
    around = float(x.mean())
    spread = float(((x - around) ** 2).sum())
    error = np.sqrt((residual**2).sum() / degrees * (1 / x.size + (at - around) ** 2 / spread))
    half = student_t(0.5 + _CONFIDENCE / 2, degrees) * error
    mean = line.intercept + line.slope * at
    return mean - half, mean + half


def fit_line(x: Floats, y: Floats) -> Line | str:
    """Fit a line to points by least squares; x, y: shape (n,). Return why there is none, as text.

    By scipy.stats.linregress; the slope's interval is Student's, with n - 2 degrees of freedom,
    which assumes independent deviations of equal variance. It estimates how the mean of y depends
    on x among points that were drawn at random. Of points that were selected by a large y both
    slope and r are biased, even in sign. Refused below 3 points, and where all x or all y are
    equal.
    """
    if x.size < LEAST_POINTS:
        return f"a line takes {LEAST_POINTS} points; there are {x.size}"
    for name, values in (("x", x), ("y", y)):
        if float(values.min()) == float(values.max()):
            return f"all {name} are equal"
    from scipy.stats import linregress

    fitted = linregress(x, y)
    half = student_t(0.5 + _CONFIDENCE / 2, x.size - 2) * float(fitted.stderr)
    slope = float(fitted.slope)
    return Line(
        int(x.size),
        float(fitted.intercept),
        slope,
        slope - half,
        slope + half,
        float(fitted.rvalue),
    )
