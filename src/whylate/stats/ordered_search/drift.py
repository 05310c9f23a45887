"""Drift over the runs of a search: what it does to their covariance, and what may be.

A board becomes warm (a line), its load wanders (a random walk), or its clock changes once (a jump).
Each is a normal variable of a known variance, in units of the noise's variance, whose values are
integrated out. All cost a number of operations that is linear in the runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import cho_solve_banded, cholesky_banded

from whylate.stats.arrays import Floats


@dataclass(frozen=True)
class Drift:
    """Variances of the step of a random walk per run, of a slope per run, and of a jump.

    after: the part of the runs after which the jump is.
    """

    walk: float = 0.0
    slope: float = 0.0
    jump: float = 0.0
    after: float = 0.5

    def covariance(self, n: int) -> Floats:
        """Return that of n runs with noise, shape (n, n)."""
        runs = np.arange(1.0, n + 1)
        whole: Floats = np.eye(n) + self.walk * np.minimum.outer(runs, runs)
        for variance, shape in self._shapes(n, n):
            whole += variance * np.outer(shape, shape)
        return whole

    def solve(self, rows: Floats) -> tuple[Floats, float]:
        """Return rows times the inverse of the covariance, and the log of its determinant.

        rows: shape (rows, n). The inverse of the walk's covariance is a band of three (Rue and
        Held 2005, Gaussian Markov Random Fields, ch. 1); slope and jump are of rank one each
        (Sherman and Morrison).
        """
        n = rows.shape[1]
        solved, log_determinant = rows, 0.0
        if self.walk:
            factor, log_determinant = _walk(n, self.walk)
            solved = rows - self.walk * cho_solve_banded((factor, True), rows.T).T
        inverses: list[tuple[float, Floats]] = []
        for variance, shape in self._shapes(n, n):
            turned = shape
            if self.walk:
                turned = shape - self.walk * cho_solve_banded((factor, True), shape)
            for weight, other in inverses:
                turned = turned - weight * float(other @ shape) * other
            scale = 1 + variance * float(shape @ turned)
            log_determinant += float(np.log(scale))
            solved = solved - (variance / scale) * np.outer(solved @ shape, turned)
            inverses.append((variance / scale, turned))
        return solved, log_determinant

    def next_run(self, n: int) -> tuple[Floats, float]:
        """Return the covariance of the run after n with them, shape (n,), and its own variance."""
        with_next: Floats = self.walk * np.arange(1.0, n + 1)
        own = 1 + self.walk * (n + 1)
        for variance, shape in self._shapes(n + 1, n):
            with_next += variance * shape[-1] * shape[:-1]
            own += variance * float(shape[-1]) ** 2
        return with_next, own

    def _shapes(self, size: int, runs: int) -> list[tuple[float, Floats]]:
        """Return the variance and the shape over `size` runs of what is of rank one."""
        numbers = np.arange(1.0, size + 1)
        jumped: Floats = (numbers > self.after * runs).astype(np.float64)
        both = ((self.slope, numbers), (self.jump, jumped))
        return [(variance, shape) for variance, shape in both if variance]


_JUMPS = 12
#: Drifts that may be, and their prior: none; steady, of 1 standard deviation in 100 or in 30 runs;
#: wandering by a third, or 1, in 100 runs; a jump of about 1 at some time, of which some times
#: spread evenly stand for all. That there is none must not be likely: who takes it for granted is
#: surer of a commit than right where the drift is as small as the step.
DRIFTS = (
    (Drift(), 0.2),
    (Drift(slope=1e-4), 0.2),
    (Drift(slope=1e-3), 0.15),
    (Drift(walk=1e-3), 0.15),
    (Drift(walk=1e-2), 0.15),
    *((Drift(jump=1.0, after=(time + 0.5) / _JUMPS), 0.15 / _JUMPS) for time in range(_JUMPS)),
)


@lru_cache(maxsize=4096)
def _walk(n: int, variance: float) -> tuple[Floats, float]:
    """Return the Cholesky factor of T + q, and the log of its determinant.

    T, with 2 (the last 1) on its diagonal and -1 beside it, is the inverse of min(i, j); its
    determinant is 1. So the inverse of 1 + q min(i, j) is 1 - q (T + q)^-1.
    """
    band = np.empty((2, n))
    band[0] = 2 + variance
    band[0, -1] = 1 + variance
    band[1] = -1
    factor: Floats = cholesky_banded(band, lower=True)
    return factor, 2 * float(np.log(factor[0]).sum())
