"""When a study may stop: at looks that were planned, or at any time.

Who tests after every pair and stops at the first p < .05 rejects one true null hypothesis in four.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

Floats = NDArray[np.float64]

#: Steps of the grid on which the test's path is followed.
_STEPS = 2001
#: Effects that the e-process bets on: a normal distribution of standardised ones, of this variance.
SPREAD = 1.0


@cache
def look_levels(looks: tuple[int, ...], alpha: float = 0.05) -> tuple[float, ...]:
    """Return the two-sided p-value below which to stop at each look, so that all err in alpha.

    The bounds of O'Brien and Fleming (1979), Biometrics 35, for looks after any numbers of pairs:
    |Z_k| >= c sqrt(n_K / n_k), with c such that a path of the null hypothesis crosses any of them
    with probability alpha (Armitage, McPherson and Rowe 1969, JRSS A 132). Raises ValueError where
    the looks are no rising positive numbers.
    """
    if not looks or looks[0] < 1 or any(b <= a for a, b in pairwise(looks)):
        raise ValueError("looks must be positive numbers of pairs, each larger than the last")
    scale = np.sqrt(looks[-1] / np.array(looks, float))
    c = brentq(lambda c: _crossing(looks, c * scale) - alpha, 0.5, 20)
    return tuple(float(2 * ndtr(-c * one)) for one in scale)


def _crossing(looks: Sequence[int], bounds: Floats) -> float:
    """Return the probability that a Brownian path is beyond a bound at any look."""
    inside = 1.0
    grid = density = np.empty(0)
    for k, (n, bound) in enumerate(zip(looks, bounds, strict=True)):
        # On the scale of the sum, whose increments are independent.
        edge = bound * math.sqrt(n)
        fresh = np.linspace(-edge, edge, _STEPS)
        if k == 0:
            reached = _normal(fresh, n)
        else:
            step = grid[1] - grid[0]
            steps = n - looks[k - 1]
            reached = _normal(fresh[:, None] - grid[None, :], steps) @ density * step
        grid, density = fresh, reached
        inside = float(np.trapezoid(density, grid))
    return 1 - inside


def _normal(x: Floats, variance: float) -> Floats:
    return np.exp(-x * x / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def e_value(differences: Floats) -> float:
    """Return the evidence against "no difference within pairs" so far, 1 before the second pair.

    differences: of logarithms, in the order in which the pairs were made, shape (pairs,). The
    Bayes factor of Student's t with a normal mixture over the standardised effect (Gönen et al.
    2005, Am. Stat. 59) and the right Haar prior on the scale, with which it is a martingale under
    the null hypothesis whatever the scale (Wang and Ramdas 2025, Sequential Analysis 44): it ever
    exceeds 1 / alpha with probability alpha at most, whenever one looks.
    """
    n = len(differences)
    if n < 2:
        return 1.0
    mean = differences.mean()
    squares = float(((differences - mean) ** 2).sum())
    if squares == 0:
        return 1.0 if mean == 0 else math.inf
    t2 = n * (n - 1) * mean * mean / squares
    wide = 1 + n * SPREAD
    log = -0.5 * math.log(wide) + n / 2 * (
        math.log1p(t2 / (n - 1)) - math.log1p(t2 / (wide * (n - 1)))
    )
    return math.exp(min(log, 700.0))


def joint_e_value(differences: Floats) -> float:
    """Return that for several statistics at once, shape (pairs, statistics): their mean."""
    columns = [e_value(differences[:, k]) for k in range(differences.shape[1])]
    return float(np.mean(columns)) if columns else 1.0
