"""Fresh runs confirm a set that is the answer, and no other: no part of it, no member too many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from whylate.stats.search.confirm import Outcome, judge_target, measure
from whylate.stats.search.ends import LEAST_SCALE, end_of, estimate_gap, is_too_small, level_of
from whylate.stats.search.model import Hybrid, Problem, Purpose, Run
from whylate.stats.search.predicted import predicted_effects
from whylate.stats.search.target import Target

ITEMS = 12
PROBLEM = Problem(ITEMS, seed=1)
Closed = Callable[[np.ndarray, bool], float | None]


def judged(
    members: tuple[int, ...],
    closed: Closed,
    seed: int,
    most: int = 90,
    noise: float = 1.0,
    before: Sequence[Hybrid] = (),
) -> tuple[Outcome, list[Run]]:
    """Run the ends and these, then what a target asks for, a gap of 6, until it is decided."""
    rng = np.random.default_rng(seed)
    target = Target(tuple((item,) for item in members), ITEMS)
    planned = [*(end_of(PROBLEM, bool(at % 2), 0) for at in range(20)), *before]
    history: list[Run] = []
    while True:
        for each in planned:
            level = closed(each.in_force, each.fast_base)
            outcome = None if level is None else 6 * level + noise * rng.standard_normal()
            history.append(Run(each, each.in_force, outcome))
        judgement = judge_target(PROBLEM, target, history)
        if judgement.outcome is not Outcome.UNDECIDED or len(history) > most:
            return judgement.outcome, history
        planned = list(judgement.planned)


def test_the_answer_is_confirmed() -> None:
    outcome, history = judged((3, 7), lambda fast, _: float(fast[3] and fast[7]), 1)
    assert outcome is Outcome.CONFIRMED
    target = Target(((3,), (7,)), ITEMS)
    confirmation, effects, share = measure(PROBLEM, target, history)
    assert share is None
    assert [effect.item for effect in effects] == [3, 7]
    # Each alone does nothing, and the second closes the gap: half on average.
    for effect in effects:
        assert effect.share.low is not None
        assert effect.share.low < 0.5 < (effect.share.high or 0)
        assert (effect.share.high or 0) - effect.share.low < 0.6
    assert confirmation.fast is not None
    assert abs(confirmation.fast.value - 1) < 0.3


@pytest.mark.parametrize(
    ("members", "closed"),
    [
        # A part of the answer, in one direction or both.
        ((3,), lambda fast, _: 0.6 * float(fast[3]) + 0.4 * float(fast[7])),
        ((3,), lambda fast, _: float(fast[3] and fast[7])),
        ((3,), lambda fast, _: float(fast[3] or fast[7])),
        # A member that does nothing.
        ((3, 7), lambda fast, _: float(fast[3])),
        # The rest does it.
        ((3,), lambda _, base: float(base)),
    ],
)
def test_nothing_else_is_confirmed(members: tuple[int, ...], closed: Closed) -> None:
    for seed in range(10):
        outcome, _ = judged(members, closed, seed)
        assert outcome is not Outcome.CONFIRMED


def test_a_member_that_does_nothing_is_seldom_confirmed() -> None:
    outcomes = [judged((3, 7), lambda fast, _: float(fast[3]), seed)[0] for seed in range(60)]
    # 7 of 400 were: of 60 six or more are once in 2,000 times.
    assert outcomes.count(Outcome.CONFIRMED) < 6


def test_a_set_whose_hybrids_never_run_is_untestable() -> None:
    outcome, _ = judged(
        (3,), lambda fast, _: None if fast[3] and not fast.all() else float(fast[3]), 2
    )
    assert outcome is Outcome.UNTESTABLE


def kinds_between(
    members: tuple[int, ...], history: list[Run]
) -> set[tuple[tuple[bool, ...], bool]]:
    """Return the settings between that were run, each with the context."""
    rows = [run.in_force for run in history if run.planned.purpose is Purpose.RESOLVE]
    return {(tuple(row[list(members)].tolist()), bool(row[0])) for row in rows}


def test_settings_between_of_two_are_run_in_both_contexts() -> None:
    _, history = judged((1, 5), lambda fast, _: fast[[1, 5]].mean(), 3)
    assert len(kinds_between((1, 5), history)) == 4


def test_every_setting_between_is_run_near_the_end_it_is_like() -> None:
    _, history = judged((1, 5, 9), lambda fast, _: fast[[1, 5, 9]].mean(), 3)
    first = [run for run in history if run.planned.purpose is Purpose.RESOLVE][:6]
    kinds = kinds_between((1, 5, 9), first)
    assert len({setting for setting, _ in kinds}) == 6
    assert all(sum(setting) == 1 + context for setting, context in kinds)


def test_then_the_settings_that_say_most_of_a_member_are_run_again() -> None:
    rng = np.random.default_rng(6)
    rows = rng.random((90, ITEMS)) < 0.7
    screened = [Hybrid(row, bool(row[0]), 0, Purpose.SCREEN) for row in rows]
    _, history = judged((1, 5, 9), lambda fast, _: float(fast[[1, 5, 9]].all()), 5, most=200,
                        noise=1.5, before=screened)  # fmt: skip
    more = [run for run in history if run.planned.purpose is Purpose.RESOLVE][6:]
    assert more
    # Each member does something where the others are fast.
    assert {sum(setting) for setting, _ in kinds_between((1, 5, 9), more)} == {2}


def test_runs_without_noise_are_known_as_well_as_the_grid_of_levels() -> None:
    _, history = judged((3,), lambda fast, _: float(fast[3]), 4, most=20, noise=0.0)
    levels = level_of(history)
    assert levels.scale == LEAST_SCALE
    np.testing.assert_allclose(levels.level, [run.in_force[3] for run in history], atol=1e-6)


def test_a_gap_is_too_small_where_even_its_upper_limit_is() -> None:
    gap, _, _ = estimate_gap(judged((3,), lambda fast, _: float(fast[3]), 5, most=20)[1])
    assert not is_too_small(gap, 100)
    assert is_too_small(gap, 30)


def test_only_runs_before_the_first_fresh_one_predict() -> None:
    def screened(count: int, level: Callable[[np.ndarray], float], seed: int) -> list[Run]:
        rng = np.random.default_rng(seed)
        rows = rng.random((count, ITEMS)) < 0.5
        return [
            Run(Hybrid(row, bool(base), 0, Purpose.SCREEN), row, level(row) + 0.01 * float(noise))
            for row, base, noise in zip(
                rows, rng.random(count) < 0.5, rng.standard_normal(count), strict=True
            )
        ]

    ends = [
        Run(each, each.in_force, float(each.fast_base) + 0.01 * (at % 3))
        for at, each in enumerate(end_of(PROBLEM, bool(at % 2), 0) for at in range(20))
    ]
    target = Target(((3,), (7,)), ITEMS)
    history = ends + screened(80, lambda row: float(row[3] and row[7]), 1)
    effects = predicted_effects(target, history)
    # Both need each other: an effect where the other is on the fast side.
    assert effects.shape == (2, 4)
    assert np.allclose(effects, [[0, 0, 1, 1], [0, 1, 0, 1]], atol=0.1)
    row = np.zeros(ITEMS, bool)
    row[3] = True
    fresh = Run(Hybrid(row, False, 0, Purpose.RESOLVE, target.items), row, 1.0)
    later = screened(80, lambda row: float(row[3]), 2)
    assert np.array_equal(predicted_effects(target, [*history, fresh, *later]), effects)
    # Without runs the effects of members are alike.
    assert np.allclose(predicted_effects(target, ends), 0.5)
