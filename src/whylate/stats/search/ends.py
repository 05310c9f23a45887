"""The first stage: is there a gap between the ends, and is it large enough to search?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from whylate.stats.arrays import Bools
from whylate.stats.comparison.stopping import look_levels
from whylate.stats.limits import student_p
from whylate.stats.search.arms import FAST, SLOW, fit_arms, reference_arms
from whylate.stats.search.model import Gap, Hybrid, Problem, Purpose, Run
from whylate.stats.search.noise import Levels
from whylate.stats.search.robust_fit import SD_OF_SCALE

#: Runs of each end after which it is decided whether there is a gap.
LOOKS = (10, 15, 20)
#: How often a gap is seen where there is none, all looks together.
ALPHA = 0.01
#: Tries for a run of an end, as a multiple of what is asked for; an end that does not run has none.
_TRIES = 2
#: Runs that a search takes: so many, and so many over the square of the gap in sd. From the medians
#: that bench/calibrate_search.py finds for pairs.
NEEDED_FIXED, NEEDED_SQUARE = 45, 640


#: Least scale of the noise, in gaps: levels are a grid, and runs in virtual time have no noise.
LEAST_SCALE = 0.03


class Ends(StrEnum):
    """What is known of the ends."""

    UNDECIDED = "undecided"
    GAP = "gap"
    NO_GAP = "no gap"
    UNTESTABLE = "untestable"


def judge_ends(history: Sequence[Run]) -> tuple[Ends, Gap | None]:
    """Say whether the ends differ, by the runs of both ends so far.

    A test of the robust fit's difference at interim looks. Runs of ends that come later serve as
    references; they do not reopen the decision.
    """
    arm = reference_arms(history)
    tries = [run.planned.fast_base for run in history if run.planned.purpose is Purpose.END]
    runs = min(int((arm == SLOW).sum()), int((arm == FAST).sum()))
    if runs < LOOKS[0]:
        stuck = max(tries.count(True), tries.count(False)) >= _TRIES * LOOKS[0]
        return (Ends.UNTESTABLE if stuck and runs < 3 else Ends.UNDECIDED), None
    screened = any(run.planned.purpose is not Purpose.END for run in history)
    gap, t, degrees = estimate_gap(history)
    if screened:
        return Ends.GAP, gap
    look = max(place for place, at in enumerate(LOOKS) if runs >= at)
    if student_p(t, degrees) <= look_levels(LOOKS, ALPHA)[look]:
        return Ends.GAP, gap
    return (Ends.NO_GAP if runs >= LOOKS[-1] else Ends.UNDECIDED), gap


def estimate_gap(history: Sequence[Run]) -> tuple[Gap, float, float]:
    """Return the gap between the ends, its t and degrees of freedom, by all runs of the ends."""
    arm = reference_arms(history)
    arms = fit_arms(history, arm)
    contrast = arms.contrast({FAST: 1.0, SLOW: -1.0})
    estimate = arms.fit.estimate(contrast)
    gap = Gap(estimate, SD_OF_SCALE * arms.fit.scale, int((arm >= 0).sum()))
    return gap, arms.fit.t(contrast), arms.fit.degrees


def needed_runs(gap_sd: float) -> int:
    """Return about how many runs the whole search takes at a gap in run-level sd."""
    return math.ceil(NEEDED_FIXED + NEEDED_SQUARE / max(gap_sd, 0.05) ** 2)


def is_too_small(gap: Gap, budget: int) -> bool:
    """Whether the budget is too small even for the largest gap that the interval allows."""
    low, high = gap.estimate.low, gap.estimate.high
    largest = max(abs(bound) for bound in (gap.estimate.value, low, high) if bound is not None)
    return needed_runs(largest / gap.sd) > budget


def plan_ends(problem: Problem, history: Sequence[Run], rng: np.random.Generator) -> list[Hybrid]:
    """Return the next runs of both ends, in pairs of random order, on the boards in turns."""
    done = sum(run.planned.purpose is Purpose.END for run in history)
    planned: list[Hybrid] = []
    for pair in range(max(1, (problem.batch + 1) // 2)):
        board = (done // 2 + pair) % problem.boards
        planned += [end_of(problem, bool(side), board) for side in rng.permutation(2)]
    return planned


def end_of(problem: Problem, fast: bool, board: int) -> Hybrid:
    """Return a run of one end."""
    in_force: Bools = np.full(problem.items, fast)
    return Hybrid(in_force, fast, board, Purpose.END)


def level_of(history: Sequence[Run]) -> Levels:
    """Return each run's outcome between the ends, by the fit of the runs of the ends."""
    arms = fit_arms(history, reference_arms(history))
    slow, fast = arms.fit.coefficients[SLOW], arms.fit.coefficients[FAST]
    gap = fast - slow
    scale = max(arms.fit.scale / abs(gap), LEAST_SCALE)
    wider = scale * abs(gap) / arms.fit.scale
    outcome = np.array([math.nan if run.outcome is None else run.outcome for run in history])
    return Levels(
        (outcome - arms.shift - slow) / gap,
        arms.extra,
        arms.fit.covariance * (wider / gap) ** 2,
        scale,
        arms.fit.degrees,
    )
