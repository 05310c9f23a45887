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
from whylate.stats.search.between import first_settings, informative_settings
from whylate.stats.search.ends import end_of
from whylate.stats.search.member_test import ALPHA, NEEDLESS, PREDICTED_PART, exchange_p
from whylate.stats.search.model import Confirmation, Effect, Hybrid, Items, Problem, Purpose, Run
from whylate.stats.search.predicted import predicted_effects
from whylate.stats.search.target import Target, arm_of, arms_of, fresh_runs, plan_arms

#: One-sided level of each equivalence test at each look, and of its opposite.
EQUAL_ALPHA, APART_ALPHA = 0.025, 0.005
#: Level of the test that a member matters, at each look.
MEMBER_ALPHA = 0.005
#: Looks: after so many tries of each corner, each a quarter further than the last. The level is of
#: one look: with a gap of 6 a set that closes exactly 1 - margin of it in one direction and all of
#: it in the other was confirmed in 29 of 150 simulations, and one that does so in both in none.
LOOKS = (4, 6, 8, 10, 12, 16, 20, 24, 30, 38, 48, 60, 76, 96, 120, 150, 200)
#: Tries after which a set that is not confirmed is compared with others again.
DOUBTFUL_AFTER = 8
#: Fewest runs of a corner with an outcome, and tries after which one with fewer is given up.
_FEWEST, _TRIES = 3, 12
#: Tries of each corner that are planned at once.
_TRIES_AT_ONCE = 2
#: Most rounds of the settings between, or as many runs, and rounds after which the members that
#: matter are judged without the others.
RESOLVE_MOST, REDUCED_AFTER = 16, 4


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

    First every setting between is run; then both ends with the members exchanged, among runs of
    the ends. It is the whole answer where both behave as the other end within the margin (two
    one-sided tests each, Schuirmann 1987, J. Pharmacokinet. Biopharm. 15).
    A member matters where the effect that earlier runs predict, its main effect or any of its
    effects at one setting of the others is significant, by Bonferroni's limit, and a permutation
    test agrees (member_test.py).
    """
    rng = np.random.default_rng([problem.seed, len(history), 2])
    between = target.full - 1
    done = _rounds(history, target, Purpose.RESOLVE, max(between, 1))
    if (first := first_settings(target, done, rng)) is not None:
        return _more_between(problem, target, history, first)
    arm = arms_of(history, target)
    corners = _corners(problem, target)
    counts = [int((arm == arm_of(context, setting, target)).sum()) for context, setting in corners]
    tries = _rounds(history, target, Purpose.CONFIRM, len(corners))
    if min(counts) < _FEWEST and tries >= _TRIES:
        return Judgement(Outcome.UNTESTABLE)
    if not _is_look(tries) or min(counts) < _FEWEST:
        return _more_corners(problem, target, history, tries, rng)
    arms, places = _fit(history, arm)
    tests = [_equivalence(problem, target, arms, places, corner) for corner in corners]
    rising = predicted_effects(target, history) * np.sign(_gap(arms) @ arms.fit.coefficients)
    p_values = [exchange_p(target, history, arms.shift, place, effects, rng)
                for place, effects in enumerate(rising)]  # fmt: skip
    needed = [
        p <= ALPHA and _matters(target, arms, places, place, rising[place])
        for place, p in enumerate(p_values)
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
        unclear = [place for place, known in enumerate(needed) if not known]
        more = informative_settings(problem, target, history, arm, rising, unclear)
        return replace(_more_between(problem, target, history, more), doubtful=True)
    planned = _more_corners(problem, target, history, tries, rng)
    return replace(planned, doubtful=tries >= DOUBTFUL_AFTER or any(apart for _, apart in tests))


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


def _is_look(tries: int) -> bool:
    """Whether these many tries reach a look, also where a plan was killed between two tries."""
    return any(look <= tries < look + _TRIES_AT_ONCE for look in LOOKS)


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
    problem: Problem, target: Target, history: Sequence[Run], arms: Sequence[tuple[bool, int]]
) -> Judgement:
    """Plan a run of each of these settings between, in its context."""
    planned = plan_arms(problem, target, arms, history, Purpose.RESOLVE)
    if not planned:
        return Judgement(Outcome.NEEDLESS_MEMBER)
    return Judgement(Outcome.UNDECIDED, tuple(planned))


def _more_corners(
    problem: Problem, target: Target, history: Sequence[Run], tries: int, rng: np.random.Generator
) -> Judgement:
    """Plan two runs of each corner, among one run of each end.

    As long as ends have more runs than corners they say less, and come every second time.
    """
    corners = _corners(problem, target) * _TRIES_AT_ONCE
    planned = plan_arms(problem, target, corners, history, Purpose.CONFIRM)
    ends = sum(run.planned.purpose is Purpose.END for run in history)
    if ends < 2 * tries or tries // _TRIES_AT_ONCE % 2 == 0:
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


def _differences(
    target: Target, arms: Arms, places: dict[int, int], place: int
) -> dict[int, Floats]:
    """Return the contrasts of a member, by the setting of the others, of those that were run."""
    run = _settings_run(target, places)
    return {
        slow: _mean_of(target, arms, places, fast) - _mean_of(target, arms, places, slow)
        for slow, fast in _pairs(target, place)
        if {slow, fast} <= run
    }


def _main(target: Target, arms: Arms, places: dict[int, int], place: int) -> Floats:
    mean: Floats = np.mean(list(_differences(target, arms, places, place).values()), axis=0)
    return mean


def _matters(
    target: Target, arms: Arms, places: dict[int, int], place: int, predicted: Floats
) -> bool:
    """Whether a member has an effect: the predicted one, its mean, or one at some setting.

    predicted: at each setting, towards which the outcome rises, shape (2^k,).
    """
    by_setting = _differences(target, arms, places, place)
    contrasts = list(by_setting.values())
    weighted: Floats = np.sum([predicted[slow] * contrasts[number]
                               for number, slow in enumerate(by_setting)], axis=0)  # fmt: skip
    degrees = arms.fit.degrees
    if arms.fit.t(weighted) > student_t(1 - MEMBER_ALPHA * PREDICTED_PART, degrees):
        return True
    tests = [np.mean(contrasts, axis=0), *contrasts] if len(contrasts) > 1 else contrasts
    limit = student_t(1 - MEMBER_ALPHA * (1 - PREDICTED_PART) / 2 / len(tests), degrees)
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
