"""When a study may stop: at looks that were planned, or at any time.

Who tests after every pair and stops at the first p < .05 rejects one true null hypothesis in four.
"""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np

from whylate.stats.arrays import Floats

#: Effects that the e-process bets on: a normal distribution of standardised ones, of this variance.
SPREAD = 1.0


@cache
def look_levels(looks: tuple[int, ...], alpha: float = 0.05) -> tuple[float, ...]:
    """Return the p-value below which to stop at each look, so that all err in alpha at most.

    |Z_k| >= c sqrt(n_K / n_k), the shape of O'Brien and Fleming (1979), Biometrics 35: hardly
    anything at first, nearly all at the end. They have c from the path of one normal sum. A joint
    test of several statistics has no such path: it errs more often, by up to the sum of its levels.
    So c is such that the levels sum to alpha (Bonferroni), which holds whatever is tested. Raises
    ValueError where the looks are no rising positive numbers.
    """
    # Slow to import.
    from scipy.optimize import brentq
    from scipy.special import ndtr

    if not looks or looks[0] < 1 or any(b <= a for a, b in pairwise(looks)):
        raise ValueError("looks must be positive numbers of pairs, each larger than the last")
    scale = np.sqrt(looks[-1] / np.array(looks, float))
    c = brentq(lambda c: float(2 * ndtr(-c * scale).sum()) - alpha, 0.5, 20)
    return tuple(float(2 * ndtr(-c * factor)) for factor in scale)


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
    wide = 1 + n * SPREAD
    if squares == 0:
        # The limit of large t: whole numbers, or a coarse clock, can come out so by chance.
        return 1.0 if mean == 0 else math.exp(min((n - 1) / 2 * math.log(wide), 700.0))
    t2 = n * (n - 1) * mean * mean / squares
    log = -0.5 * math.log(wide) + n / 2 * (
        math.log1p(t2 / (n - 1)) - math.log1p(t2 / (wide * (n - 1)))
    )
    return math.exp(min(log, 700.0))


def joint_e_value(differences: Floats) -> float:
    """Return that for several statistics at once, shape (pairs, statistics): their mean."""
    columns = [e_value(differences[:, k]) for k in range(differences.shape[1])]
    return float(np.mean(columns)) if columns else 1.0
