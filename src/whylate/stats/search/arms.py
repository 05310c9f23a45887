"""Means of runs that are of one kind, with what boards differ by and what drifts taken off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.search.model import Purpose, Run
from whylate.stats.search.robust_fit import Fit, fit_robust

#: The first two arms.
SLOW, FAST = 0, 1
#: Prior standard deviation of a board's offset, and of the drift over 100 runs, in scales of noise.
_BOARD_SD, _DRIFT_SD = 5.0, 1.0


@dataclass(frozen=True)
class Arms:
    """fit: a column for each arm, then the others.

    extra: the other columns of each run, used or not, shape (runs, others): its board and when it
    was made. shift: what they add to it, shape (runs,).
    """

    fit: Fit
    extra: Floats
    shift: Floats

    def contrast(self, weights: Mapping[int, float]) -> Floats:
        """Return the coefficients of a weighted sum of arms' means."""
        vector = np.zeros(len(self.fit.coefficients))
        for arm, weight in weights.items():
            vector[arm] = weight
        return vector


def reference_arms(history: Sequence[Run]) -> Int64s:
    """Return for each run SLOW or FAST where it is an end with an outcome, else -1."""
    return np.array(
        [
            int(run.planned.fast_base)
            if run.planned.purpose is Purpose.END and run.outcome is not None
            else -1
            for run in history
        ],
        np.int64,
    )


def fit_arms(history: Sequence[Run], arm: Int64s) -> Arms:
    """Fit the runs whose arm is 0 or more; shape (runs,). Every arm up to the largest has runs.

    outcome = mean of the arm + board + drift * order. Drift is linear, and like the boards' offsets
    it is shrunk to nothing where references do not show it. Raises ValueError without enough runs.
    """
    used = np.flatnonzero(arm >= 0)
    arms = int(arm.max()) + 1 if len(used) else 0
    board = np.array([run.board for run in history], np.int64)
    order = np.arange(len(history)) / 100.0
    boards = np.unique(board[used])[1:]
    extra = np.column_stack(
        [(board[:, None] == boards[None, :]).astype(float), order - order[used].mean()]
    )
    design = np.column_stack([arm[used, None] == np.arange(arms)[None, :], extra[used]])
    outcomes = [math.nan if run.outcome is None else run.outcome for run in history]
    outcome: Floats = np.array(outcomes)[used]
    prior = np.r_[np.full(arms, np.inf), np.full(len(boards), _BOARD_SD), _DRIFT_SD]
    middle = float(np.median(outcome)) if len(used) else 0.0
    fit = fit_robust(design.astype(float), outcome - middle, prior)
    coefficients = fit.coefficients.copy()
    coefficients[:arms] += middle
    fit = Fit(coefficients, fit.covariance, fit.scale, fit.degrees)
    return Arms(fit, extra, extra @ fit.coefficients[arms:])
