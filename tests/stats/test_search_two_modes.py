"""Noise of two modes makes no culprits: as of a program that has a CPU for itself, or has not."""

from __future__ import annotations

import numpy as np

from whylate.stats.search.ends import end_of
from whylate.stats.search.machine import advance
from whylate.stats.search.member_test import ALPHA, exchange_p
from whylate.stats.search.model import (
    Answer,
    Culprits,
    ExplainsPart,
    Hybrid,
    Problem,
    Purpose,
    Run,
)
from whylate.stats.search.target import Target

ITEMS = 24
#: Repetitions, and so many of them may pass a test at its level, once in 1,000 times.
REPETITIONS, PASS = 200, 21


def outcome(is_fast: bool, rng: np.random.Generator) -> float:
    """Return a run's: the slow end has a second mode, as far above as the gap is wide."""
    if is_fast:
        return float(-1.5 + 0.2 * rng.standard_normal())
    return float((1.5 if rng.random() < 0.45 else 0.0) + 0.1 * rng.standard_normal())


def runs_of_pair(seed: int, *, both: bool, between: int = 3) -> list[Run]:
    """Return runs that were made for items 3 and 7, of which 3 closes the gap; both: both do.

    between: how often each alone was run, on either base.
    """
    rng = np.random.default_rng(seed)
    problem = Problem(ITEMS, seed=1, both_bases=False)
    hybrids = [end_of(problem, bool(at % 2), 0) for at in range(20)]
    for base, chosen in ((0, (3, 7)), (1, ()), (0, (3,)), (0, (7,)), (1, (3,)), (1, (7,))):
        row = np.full(ITEMS, bool(base))
        row[[3, 7]] = [item in chosen for item in (3, 7)]
        count = 5 if len(chosen) != 1 else between
        hybrids += [Hybrid(row, bool(base), 0, Purpose.CONFIRM, (3, 7))] * count
    return [
        Run(each, each.in_force,
            outcome(bool(each.in_force[3] and (each.in_force[7] or not both)), rng))
        for each in hybrids
    ]  # fmt: skip


def passed(
    item: int, *, both: bool, predicted: tuple[float, ...] = (-1, -1, -1, -1), between: int = 3
) -> int:
    """Return in how many repetitions an item matters, which is predicted to lower the outcome."""
    target, count = Target(((3,), (7,)), ITEMS), 0
    for seed in range(REPETITIONS):
        history = runs_of_pair(seed, both=both, between=between)
        rng = np.random.default_rng(seed)
        nothing = np.zeros(len(history))
        place, effects = 0 if item == 3 else 1, np.array(predicted)
        count += exchange_p(target, history, nothing, place, effects, rng) <= ALPHA
    return count


def test_an_item_that_does_nothing_matters_as_seldom_as_stated() -> None:
    assert ALPHA * REPETITIONS <= 10
    assert passed(7, both=False) <= PASS


def test_items_that_make_the_gap_matter() -> None:
    assert passed(3, both=False) > 0.95 * REPETITIONS
    assert passed(3, both=True) > 0.6 * REPETITIONS
    assert passed(7, both=True) > 0.6 * REPETITIONS


def test_few_runs_do_where_the_effect_was_predicted() -> None:
    alone = passed(7, both=True, predicted=(0, -1, 0, -1), between=2)
    everywhere = passed(7, both=True, between=2)
    assert alone > everywhere + 0.1 * REPETITIONS


def test_an_item_whose_effect_is_not_as_predicted_matters() -> None:
    assert passed(3, both=False, predicted=(1, 1, 1, 1)) > 0.5 * REPETITIONS


def answer_of(seed: int) -> tuple[Answer, int]:
    rng = np.random.default_rng(seed)
    culprit = int(rng.integers(ITEMS))
    problem = Problem(ITEMS, seed=seed, both_bases=False, width=2, budget=160)
    history: list[Run] = []
    while isinstance(step := advance(problem, history), tuple):
        history += [
            Run(each, each.in_force, outcome(bool(each.in_force[culprit]), rng), each.board)
            for each in step
        ]
    return step, culprit


def test_no_innocent_is_named() -> None:
    right = 0
    for seed in range(8):
        answer, culprit = answer_of(seed)
        if isinstance(answer, Culprits | ExplainsPart):
            assert [effect.item for effect in answer.effects] == [culprit]
            right += 1
    assert right >= 3
