"""Outcomes between the ends, and what is uncertain of them: the ends, boards, drift and noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from whylate.stats.arrays import Floats
from whylate.stats.search.robust_fit import NU

_STEPS = 4


@dataclass(frozen=True)
class Levels:
    """Outcomes as parts of the gap, 0 slow and 1 fast, by the runs of the ends.

    level: of each run, NaN where untestable, shape (runs,). extra: of each run, what board and
    drift multiply, shape (runs, extras). covariance: of slow end, fast end and extras, in gaps,
    (2 + extras,) squared. scale: of the noise, in gaps; degrees: of freedom of its estimate.
    """

    level: Floats
    extra: Floats
    covariance: Floats
    scale: float
    degrees: float


def log_t(residual: Floats, scale: float | Floats) -> Floats:
    """Return the log density of the noise, in the shape of the residuals."""
    constant = gammaln((NU + 1) / 2) - gammaln(NU / 2) - 0.5 * np.log(NU * np.pi)
    density: Floats = (
        constant - np.log(scale) - (NU + 1) / 2 * np.log1p((residual / scale) ** 2 / NU)
    )
    return density


def refit(runs: Levels, expected: Floats) -> tuple[Floats, Floats]:
    """Return what fitting ends, extras and noise anew gains, and the new scales; shapes (sets,).

    expected: the level of each run if a set is the answer, shape (sets, runs). The hybrids say
    where the ends are too, but what they say depends on the set. Without this an end that its few
    runs place a little off looks like a further culprit. The gain is of the log likelihood, less
    the penalty of the prior that the runs of the ends give: normal, and for the logarithm of the
    scale with the variance of the expected information of t, (NU + 3) / (2 NU) over the degrees.
    """
    residual = runs.level - expected
    extra = np.broadcast_to(runs.extra, (*expected.shape, runs.extra.shape[1]))
    design = np.concatenate([(1 - expected)[..., None], expected[..., None], extra], axis=2)
    precision = np.linalg.inv(runs.covariance)
    scale = np.full((len(expected), 1), runs.scale)
    left = residual
    for _ in range(_STEPS):
        weight = (NU + 1) / (NU + (left / scale) ** 2)
        weighted = design * (weight / scale**2)[..., None]
        turned = weighted.transpose(0, 2, 1)
        moved = np.linalg.solve(turned @ design + precision, turned @ residual[..., None])[..., 0]
        left = residual - np.einsum("srp,sp->sr", design, moved)
        squares = (weight * left**2).sum(axis=1, keepdims=True)
        scale = np.sqrt(
            (runs.degrees * runs.scale**2 + squares) / (runs.degrees + expected.shape[1])
        )
    scale = scale[:, 0]
    gain = log_t(left, scale[:, None]).sum(axis=1) - log_t(residual, runs.scale).sum(axis=1)
    gain -= 0.5 * np.einsum("sp,pq,sq->s", moved, precision, moved)
    spread = (NU + 3) / (2 * NU) / runs.degrees
    gain -= 0.5 * np.log(scale / runs.scale) ** 2 / spread
    return gain, scale
