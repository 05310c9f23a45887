"""How likely measured values are under each hypothesis about steps, with all else integrated out.

Values y of n runs are mu + X delta + drift + noise. Noise is normal with an unknown variance s²,
and drift over the runs is a random walk, or a line, with a variance of q s² per run. mu and log s
have flat (Jeffreys) priors. A step has a product moment prior (Johnson and Rossell 2010,
J. R. Stat. Soc. B 72): a density that is proportional to delta² N(delta; 0, g s²), so that a step
of nothing is none, and the data decide faster than by the square root of n between no step, one and
two. Given q and g all integrals are closed (normal-inverse-gamma), and predictions are Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats
from whylate.stats.ordered_search.drift import Drift

#: g, and its prior: the most likely steps are sqrt(2 g) = 1, 2.8, 14 and 140 standard deviations.
SCALES = ((0.5, 0.4), (4.0, 0.38), (100.0, 0.2), (10_000.0, 0.02))
#: Part of the sum of squares that is there at least, so that equal values do not divide by 0.
_LEAST = 1e-12


@dataclass(frozen=True)
class Projected:
    """Runs and columns without their mean, for one drift.

    ones: the sum of the inverse of the covariance of noise and drift, in units of s². weights: of
    each run in the mean, shape (n,). cross: of columns with columns, shape (columns, columns).
    with_values: of columns with values, shape (columns,). squares: of the values. log_base: the
    part of the logarithm that all hypotheses share.
    """

    drift: Drift
    ones: float
    weights: Floats
    cross: Floats
    with_values: Floats
    squares: float
    log_base: float


def project(values: Floats, columns: Floats, drift: Drift) -> Projected:
    """Return the sums that all hypotheses need; columns: shape (columns, n)."""
    rows = np.vstack([np.ones(len(values)), values - values.mean(), columns])
    turned, log_determinant = drift.solve(rows)
    sums = turned.sum(axis=1)
    ones = float(sums[0])
    cross = rows[1:] @ turned[1:].T - np.outer(sums[1:], sums[1:]) / ones
    log_base = -0.5 * (log_determinant + float(np.log(ones)))
    squares = float(cross[0, 0]) + _LEAST * (float(np.ptp(values)) ** 2 or 1.0)
    return Projected(drift, ones, turned[0] / ones, cross[1:, 1:], cross[0, 1:], squares, log_base)


@dataclass(frozen=True)
class Fitted:
    """Steps of hypotheses, given q and g; arrays have the shape of the hypotheses.

    log_likelihood: up to a constant that all hypotheses of these values share. first, second: the
    means of the steps. squares: what is left. variances in units of s²; second is 0 for one step.
    """

    log_likelihood: Floats
    squares: Floats
    first: Floats
    second: Floats
    first_variance: Floats
    second_variance: Floats
    covariance: Floats


def fit_none(sums: Projected, n: int) -> float:
    """Return the logarithm of the likelihood without any step."""
    return sums.log_base - 0.5 * (n - 1) * float(np.log(sums.squares))


def fit_single(sums: Projected, g: float, n: int) -> Fitted:
    """Return one step with each column, shape (columns,)."""
    variance = 1 / (sums.cross.diagonal() + 1 / g)
    step = variance * sums.with_values
    squares = _left(sums, step * sums.with_values)
    moment = (variance + step**2 * (n - 1) / squares) / g
    log = sums.log_base + 0.5 * np.log(variance / g) - 0.5 * (n - 1) * np.log(squares)
    nothing = np.zeros_like(step)
    return Fitted(log + np.log(moment), squares, step, nothing, variance, nothing, nothing)


def fit_pairs(sums: Projected, g: float, n: int) -> Fitted:
    """Return two steps with each pair of columns, shape (columns, columns)."""
    diagonal = sums.cross.diagonal() + 1 / g
    first, second = diagonal[:, None], diagonal[None, :]
    determinant = first * second - sums.cross**2
    first_variance, second_variance = second / determinant, first / determinant
    covariance = -sums.cross / determinant
    by_first, by_second = sums.with_values[:, None], sums.with_values[None, :]
    step = first_variance * by_first + covariance * by_second
    other = second_variance * by_second + covariance * by_first
    squares = _left(sums, step * by_first + other * by_second)
    degrees = n - 1
    precision = degrees / squares
    # The mean of step² other² under a bivariate normal distribution, and of powers of 1 / s².
    moment = (
        step**2 * other**2 * precision**2 * (1 + 2 / degrees)
        + (step**2 * second_variance + other**2 * first_variance + 4 * step * other * covariance)
        * precision
        + first_variance * second_variance
        + 2 * covariance**2
    ) / g**2
    log = sums.log_base - 0.5 * np.log(determinant * g * g) - 0.5 * degrees * np.log(squares)
    return Fitted(
        log + np.log(np.maximum(moment, 1e-300)),
        squares,
        step,
        other,
        first_variance,
        second_variance,
        covariance,
    )


def _left(sums: Projected, explained: Floats) -> Floats:
    least: Floats = np.maximum(sums.squares - explained, _LEAST * sums.squares)
    return least


@dataclass(frozen=True)
class Ahead:
    """What the next run is under no step, and how a column turns into it.

    mean, variance (in units of s²). shifts: shape (columns,), what to take off a level before it
    is multiplied by the step.
    """

    mean: float
    variance: float
    shifts: Floats


def look_ahead(sums: Projected, values: Floats, columns: Floats) -> Ahead:
    """Return the prediction of the run after the last one."""
    with_next, own = sums.drift.next_run(len(values))
    weights, _ = sums.drift.solve(with_next[None, :])
    level = 1 - float(weights.sum())
    row = weights[0] + level * sums.weights
    variance = own - float(with_next @ weights[0]) + level**2 / sums.ones
    return Ahead(float(row @ values), variance, columns @ row)
