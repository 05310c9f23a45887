"""Resolve and confirm: does each member of a set matter, and is the set the whole answer?

Only runs that were made for this set count, and both ends. Which set it is was decided before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.comparison.shifts import Estimate
from whylate.stats.limits import student_t
from whylate.stats.search.arms import FAST, SLOW, Arms, fit_arms
from whylate.stats.search.ends import end_of
from whylate.stats.search.member_test import ALPHA, NEEDLESS, exchange_p
from whylate.stats.search.model import Confirmation, Effect, Hybrid, Items, Problem, Purpose, Run
from whylate.stats.search.target import Target, arm_of, arms_of, fresh_runs, plan_arms

#: One-sided level of each equivalence test at each look, and of its opposite.
EQUAL_ALPHA, APART_ALPHA = 0.025, 0.005
#: Level of the test that a member matters.
MEMBER_ALPHA = 0.005
#: Looks: after so many tries of each corner, each a quarter further than the last. All together, a
#: set that closes exactly 1 - margin of the gap in one direction and all of it in the other was
#: confirmed in 10 of 150 simulations, and one that does so in both directions in none.
LOOKS = (4, 6, 8, 10, 12, 16, 20, 24, 30, 38, 48, 60, 76, 96, 120, 150, 200)
#: Tries after which a set that is not confirmed is compared with others again.
DOUBTFUL_AFTER = 8
#: Fewest runs of a corner with an outcome, and tries after which one with fewer is given up.
_FEWEST, _TRIES = 3, 12
#: Rounds of the settings between: at first, and at most.
RESOLVE_FIRST, RESOLVE_MOST = 2, 16
#: Rounds of them after which the members that matter are judged without the others.
REDUCED_AFTER = 4


class Outcome(StrEnum):
    """What the fresh runs say."""

    CONFIRMED = "confirmed"
    UNTESTABLE = "untestable"
    NEEDLESS_MEMBER = "needless member"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Judgement:
    """What is known of a target. planned: the next runs, where it is undecided.

    doubtful: not confirmed as soon as most are; it may have a member too many, or a wrong one.
    """

    outcome: Outcome
    planned: tuple[Hybrid, ...] = ()
    doubtful: bool = False
    #: Of a set with a needless member: the others.
    needed: tuple[Items, ...] = ()


def judge_target(problem: Problem, target: Target, history: Sequence[Run]) -> Judgement:
    """Judge the fresh runs of a target, or plan more of them.

    First every setting between is run in both contexts, in turns; then both ends with the members
    exchanged, among runs of the ends. It is the whole answer where both behave as the other end
    within the margin (two one-sided tests each, Schuirmann 1987, J. Pharmacokinet. Biopharm. 15).
    A member matters where its main effect or any of its effects at one setting of the others is
    significant, by Bonferroni's limit, and a permutation test agrees (member_test.py).
    """
    rng = np.random.default_rng([problem.seed, len(history), 2])
    between = list(range(1, target.full))
    done = _rounds(history, target, Purpose.RESOLVE, max(len(between), 1))
    if between and done < RESOLVE_FIRST:
        return _more_between(problem, target, history, between, done, rng)
    arm = arms_of(history, target)
    corners = _corners(problem, target)
    counts = [int((arm == arm_of(context, setting, target)).sum()) for context, setting in corners]
    tries = _rounds(history, target, Purpose.CONFIRM, len(corners))
    if min(counts) < _FEWEST and tries >= _TRIES:
        return Judgement(Outcome.UNTESTABLE)
    if tries not in LOOKS or min(counts) < _FEWEST:
        return _more_corners(problem, target, history, rng)
    arms, places = _fit(history, arm)
    tests = [_equivalence(problem, target, arms, places, corner) for corner in corners]
    p_values = [exchange_p(target, history, arms.shift, place, rng)
                for place in range(len(target.members))]  # fmt: skip
    needed = [
        p <= ALPHA and _matters(target, arms, places, place) for place, p in enumerate(p_values)
    ]
    if all(same for same, _ in tests):
        if all(needed):
            return Judgement(Outcome.CONFIRMED)
        others = tuple(
            member for member, p in zip(target.members, p_values, strict=True) if p <= NEEDLESS
        )
        reduces = done >= REDUCED_AFTER and 0 < len(others) < len(target.members)
        if reduces or done >= RESOLVE_MOST or not between:
            others = others if reduces else ()
            return Judgement(Outcome.NEEDLESS_MEMBER, needed=others)
        return replace(_more_between(problem, target, history, between, done, rng), doubtful=True)
    more = _more_corners(problem, target, history, rng)
    return replace(more, doubtful=tries >= DOUBTFUL_AFTER or any(apart for _, apart in tests))


def measure(
    problem: Problem, target: Target, history: Sequence[Run]
) -> tuple[Confirmation, tuple[Effect, ...], Estimate | None]:
    """Return what the fresh runs measure: both directions, each item's effect, the items' share.

    The share is of the gap, closed or lost by all items without the rest; None without runs of it.
    """
    arm = arms_of(history, target)
    arms, places = _fit(history, arm)
    sides: dict[bool, Estimate | None] = {False: None, True: None}
    for context, setting in _corners(problem, target):
        number = arm_of(context, setting, target)
        if number in places:
            sides[context] = _part(arms, _closed(arms, places, number, context))
    runs = int(fresh_runs(history, target).sum())
    effects = [
        Effect(item, _part(arms, _main(target, arms, places, place)))
        for place, member in enumerate(target.members)
        for item in member
    ]
    return (
        Confirmation(sides[False], sides[True], runs),
        tuple(effects),
        _share(target, arms, places),
    )


def _rounds(history: Sequence[Run], target: Target, purpose: Purpose, size: int) -> int:
    fresh = fresh_runs(history, target)
    made = sum(run.planned.purpose is purpose for run, new in zip(history, fresh, strict=True)
               if new)  # fmt: skip
    return made // size


def _corners(problem: Problem, target: Target) -> list[tuple[bool, int]]:
    """Return the ends with the members exchanged, those that can be built."""
    corners = [(False, target.full), (True, 0)]
    if target.has_rest and not problem.both_bases:
        corners = corners[1:]
    return corners


def _more_between(
    problem: Problem, target: Target, history: Sequence[Run], between: list[int], done: int,
    rng: np.random.Generator,
) -> Judgement:  # fmt: skip
    """Plan a round of the settings between, in the context whose turn it is."""
    arms = [(bool((done + number) % 2), between[number])
            for number in rng.permutation(len(between))]  # fmt: skip
    planned = plan_arms(problem, target, arms, history, Purpose.RESOLVE)
    if not planned:
        return Judgement(Outcome.NEEDLESS_MEMBER)
    return Judgement(Outcome.UNDECIDED, tuple(planned))


def _more_corners(
    problem: Problem, target: Target, history: Sequence[Run], rng: np.random.Generator
) -> Judgement:
    """Plan two runs of each corner among one run of each end."""
    planned = plan_arms(
        problem, target, _corners(problem, target) * 2, history, Purpose.CONFIRM
    )  # fmt: skip
    board = len(history) % problem.boards
    planned += [end_of(problem, fast, board) for fast in (False, True)]
    return Judgement(Outcome.UNDECIDED, tuple(planned[place] for place in
                                              rng.permutation(len(planned))))  # fmt: skip


def _fit(history: Sequence[Run], arm: Int64s) -> tuple[Arms, dict[int, int]]:
    """Fit the arms that have runs, and say which column each has."""
    numbers = np.unique(arm[arm >= 0])
    column = {int(number): place for place, number in enumerate(numbers)}
    renamed = np.array([column.get(int(number), -1) for number in arm], np.int64)
    return fit_arms(history, renamed), column


def _closed(arms: Arms, places: dict[int, int], number: int, context: bool) -> Floats:
    """Return the contrast of a corner to the end in whose context it is: what it gains of the gap.

    Of the fast context it is the loss, so that 1 is the whole gap in both.
    """
    corner, end = places[number], places[FAST if context else SLOW]
    sign = -1.0 if context else 1.0
    return arms.contrast({corner: sign, end: -sign})


def _gap(arms: Arms) -> Floats:
    return arms.contrast({FAST: 1.0, SLOW: -1.0})


def _part(arms: Arms, contrast: Floats) -> Estimate:
    """Return a contrast as a part of the gap, with its 95 % interval (delta method)."""
    gap = float(_gap(arms) @ arms.fit.coefficients)
    part = float(contrast @ arms.fit.coefficients) / gap
    error = arms.fit.value(contrast - part * _gap(arms))[1] / abs(gap)
    half = student_t(0.975, arms.fit.degrees) * error
    return Estimate(part, part - half, part + half)


def _equivalence(
    problem: Problem, target: Target, arms: Arms, places: dict[int, int], corner: tuple[bool, int]
) -> tuple[bool, bool]:
    """Return whether a corner behaves as the other end within the margin, and whether it does not.

    The contrasts are linear: corner - end -/+ margin * gap, whose error includes that of the gap.
    """
    context, setting = corner
    closed = _closed(arms, places, arm_of(context, setting, target), context)
    sign = float(np.sign(_gap(arms) @ arms.fit.coefficients))
    below = sign * arms.fit.t(closed - (1 - problem.margin) * _gap(arms))
    above = -sign * arms.fit.t(closed - (1 + problem.margin) * _gap(arms))
    limit = student_t(1 - EQUAL_ALPHA, arms.fit.degrees)
    apart = student_t(1 - APART_ALPHA, arms.fit.degrees)
    return min(below, above) > limit, min(below, above) < -apart


def _mean_of(target: Target, arms: Arms, places: dict[int, int], setting: int) -> Floats:
    """Return the contrast that is the mean of a setting, over the contexts that were run."""
    columns = [
        places[number]
        for context in (False, True)
        if (number := arm_of(context, setting, target)) in places
    ]
    return arms.contrast({column: 1 / len(columns) for column in columns})


def _pairs(target: Target, place: int) -> list[tuple[int, int]]:
    """Return the settings that differ in one member alone, slow and fast."""
    bit = 1 << place
    return [(setting, setting | bit) for setting in range(target.full + 1) if not setting & bit]


def _differences(target: Target, arms: Arms, places: dict[int, int], place: int) -> list[Floats]:
    """Return the contrasts of a member, at each setting of the others that was run."""
    run = _settings_run(target, places)
    return [
        _mean_of(target, arms, places, fast) - _mean_of(target, arms, places, slow)
        for slow, fast in _pairs(target, place)
        if {slow, fast} <= run
    ]


def _main(target: Target, arms: Arms, places: dict[int, int], place: int) -> Floats:
    contrasts = _differences(target, arms, places, place)
    mean: Floats = np.mean(contrasts, axis=0)
    return mean


def _matters(target: Target, arms: Arms, places: dict[int, int], place: int) -> bool:
    """Whether a member has an effect, by its mean effect and that at each setting of the others."""
    contrasts = _differences(target, arms, places, place)
    tests = [np.mean(contrasts, axis=0), *contrasts] if len(contrasts) > 1 else contrasts
    limit = student_t(1 - MEMBER_ALPHA / 2 / len(tests), arms.fit.degrees)
    return any(abs(arms.fit.t(contrast)) > limit for contrast in tests)


def _share(target: Target, arms: Arms, places: dict[int, int]) -> Estimate | None:
    """Return the share of the gap that the members without the rest explain, in both directions."""
    if not target.has_rest or len(target.members) == 1:
        return None
    rest = next(place for place, member in enumerate(target.members) if target.rest in member)
    run = _settings_run(target, places)
    contrasts = []
    if (items := target.full & ~(1 << rest)) in run:
        contrasts.append(_mean_of(target, arms, places, items) - arms.contrast({SLOW: 1.0}))
    if (alone := 1 << rest) in run:
        contrasts.append(arms.contrast({FAST: 1.0}) - _mean_of(target, arms, places, alone))
    return _part(arms, np.mean(contrasts, axis=0)) if contrasts else None


def _settings_run(target: Target, places: dict[int, int]) -> set[int]:
    """Return the settings that have runs, in either context."""
    return {
        setting
        for setting in range(target.full + 1)
        if any(arm_of(context, setting, target) in places for context in (False, True))
    }
