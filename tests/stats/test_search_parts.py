"""The parts of the search among differences, each beside a slow or an exact computation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from whylate.stats.search.atoms import (
    MOST,
    Atoms,
    hierarchy_of,
    make_atoms,
    tie_atoms,
)
from whylate.stats.search.design import draw, information
from whylate.stats.search.levels import AT_FAST, AT_SLOW, LEVELS, forms
from whylate.stats.search.likelihood import complete, levels_of, setting_sums, sum_pairs
from whylate.stats.search.model import Hybrid, Problem, Purpose, Run
from whylate.stats.search.noise import Levels, log_t, refit
from whylate.stats.search.robust_fit import fit_robust
from whylate.stats.search.sets import fit_sets

#: Two means of ten runs each.
DESIGN = np.repeat(np.eye(2), 10, axis=0)
NO_PRIOR = np.array([np.inf, np.inf])


def levels(level: np.ndarray, scale: float, error: float = 0.01) -> Levels:
    return Levels(level, np.zeros((len(level), 1)), error**2 * np.eye(3), scale, 40.0)


def test_an_outlier_moves_a_robust_mean_little() -> None:
    rng = np.random.default_rng(1)
    outcome = rng.standard_normal(20)
    plain = fit_robust(DESIGN, outcome, NO_PRIOR)
    outcome[3] += 1000
    moved = fit_robust(DESIGN, outcome, NO_PRIOR)
    assert abs(moved.coefficients[0] - plain.coefficients[0]) < 0.5
    assert moved.scale < 3 * plain.scale


@pytest.mark.parametrize("freedom", [3, 300])
def test_intervals_of_robust_means_hold_as_often_as_they_say(freedom: int) -> None:
    rng = np.random.default_rng(2)
    contrast = np.array([-1.0, 1.0])
    held = 0
    for _ in range(300):
        found = fit_robust(DESIGN, rng.standard_t(freedom, 20), NO_PRIOR).estimate(contrast)
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0 <= found.high
    assert held >= 0.91 * 300


def test_fewer_runs_than_means_are_refused() -> None:
    with pytest.raises(ValueError, match="2 runs cannot fit 2"):
        fit_robust(np.eye(2), np.zeros(2), NO_PRIOR)


def test_sums_in_settings_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(3)
    fast = (rng.random((30, 7)) < 0.5).astype(float)
    table = rng.standard_normal((30, 4))
    sets = np.array([[0, 2, 5], [1, 3, 6]])
    sums = setting_sums(fast, sets, table)
    for place, chosen in enumerate(sets):
        for setting, sides in enumerate(product((0, 1), repeat=3)):
            rows = (fast[:, chosen] == np.array(sides)[::-1]).all(axis=1)
            np.testing.assert_allclose(sums[place, setting], table[rows].sum(axis=0), atol=1e-9)
    by_pairs = setting_sums(fast, sets, table, sum_pairs(fast, table))
    np.testing.assert_allclose(by_pairs, sums, atol=1e-9)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_each_form_goes_from_slow_to_fast_and_needs_each_member(size: int) -> None:
    place = forms(size).argmax(axis=2)
    assert (place[:, 0] == AT_SLOW).all()
    assert (place[:, -1] == AT_FAST).all()
    settings = np.arange(2**size)
    for member in range(size):
        off = settings[settings >> member & 1 == 0]
        assert (place[:, off] != place[:, off | 1 << member]).any(axis=1).all()
    assert len({tuple(row) for row in place.tolist()}) == len(place)


def test_free_levels_leave_out_what_needs_fewer() -> None:
    # 40 runs that one atom decides: a pair that has it explains them as well, and is not better.
    rng = np.random.default_rng(4)
    fast = (rng.random((40, 2)) < 0.5).astype(float)
    level = fast[:, 0] + 0.1 * rng.standard_normal(40)
    table = log_t(level[:, None] - LEVELS, 0.1)
    single = complete(setting_sums(fast, np.array([[0]]), table))[0]
    pair = complete(setting_sums(fast, np.array([[0, 1]]), table))[0]
    assert pair < single - 8


def test_levels_of_settings_are_those_of_the_runs() -> None:
    rng = np.random.default_rng(5)
    fast = (rng.random((80, 2)) < 0.5).astype(float)
    level = 0.8 * fast[:, 0] + 0.2 * fast[:, 1] + 0.05 * rng.standard_normal(80)
    sums = setting_sums(fast, np.array([[0, 1]]), log_t(level[:, None] - LEVELS, 0.05))
    np.testing.assert_allclose(levels_of(sums)[0] @ LEVELS, [0, 0.8, 0.2, 1], atol=0.02)


@pytest.mark.parametrize(
    ("culprits", "closed"),
    [
        ((3,), lambda on: on[:, 0]),
        ((3, 9), lambda on: on.min(axis=1)),
        ((3, 9), lambda on: on.max(axis=1)),
        ((3, 9), lambda on: on @ [0.4, 0.6]),
        ((3, 9, 12), lambda on: on.mean(axis=1)),
        ((3, 9, 12), lambda on: on.min(axis=1)),
        ((3, 9, 12), lambda on: on[:, 0] * on[:, 1:].max(axis=1)),
        # None of the forms: the levels are free.
        ((3, 9), lambda on: 1.5 * on[:, 0] - 0.5 * on[:, 1]),
    ],
)
def test_the_posterior_finds_the_set(culprits: tuple[int, ...], closed: object) -> None:
    rng = np.random.default_rng(6)
    fast = (rng.random((90, 20)) < 0.5).astype(float)
    level = closed(fast[:, culprits]) + 0.15 * rng.standard_t(4, 90)  # type: ignore[operator]
    posterior = fit_sets(fast, levels(level, 0.15), np.ones(20))
    assert posterior.best[0] == culprits
    assert posterior.best[1] > 0.9
    assert posterior.probability.sum() <= 1 + 1e-9


def test_a_prior_decides_where_runs_do_not() -> None:
    fast = np.zeros((4, 5))
    fast[:2] = 1
    weight = np.array([1.0, 1.0, 20.0, 1.0, 1.0])
    posterior = fit_sets(fast, levels(fast[:, 0], 0.1), weight)
    assert posterior.best[0] == (2,)
    assert 0.3 < posterior.best[1] < 0.9


def test_an_end_that_is_placed_wrong_is_no_further_culprit() -> None:
    rng = np.random.default_rng(7)
    fast = (rng.random((100, 20)) < 0.5).astype(float)
    # The fast end was measured 0.15 of the gap too high, with that standard error.
    level = 0.85 * fast[:, 3] + 0.1 * rng.standard_normal(100)
    assert fit_sets(fast, levels(level, 0.1, 0.15), np.ones(20)).best[0] == (3,)
    gain, scale = refit(levels(level, 0.1, 0.15), fast[:, 3][None, :])
    assert gain[0] > 10
    assert 0.05 < scale[0] < 0.12


def test_a_run_that_would_repeat_what_is_known_tells_nothing() -> None:
    rng = np.random.default_rng(8)
    fast = (rng.random((60, 20)) < 0.5).astype(float)
    level = fast[:, 3] * fast[:, 9] + 0.1 * rng.standard_normal(60)
    known = fit_sets(fast, levels(level, 0.1), np.ones(20))
    rows = rng.random((30, 20)) < 0.5
    assert information(rows, known).max() < 0.1
    unknown = fit_sets(fast[:6], levels(level[:6], 0.1), np.ones(20))
    told = information(rows, unknown)
    assert told.max() > 0.3
    assert told.max() <= np.log(2) + 0.2


def test_drawn_hybrids_have_their_part_of_atoms() -> None:
    atoms = Atoms(tuple((item,) for item in range(11)), ((),) * 11)
    rows = draw(np.random.default_rng(9), atoms, True, 0.3, 200)
    assert (rows[:, :-1].sum(axis=1) == 3).all()
    assert 0.1 < rows[:, 0].mean() < 0.5
    assert 0.3 < rows[:, -1].mean() < 0.7
    assert not draw(np.random.default_rng(9), atoms, False, 0.3, 200)[:, -1].any()


def made(in_force: np.ndarray, outcome: float | None) -> Run:
    return Run(Hybrid(in_force, False, 0, Purpose.SCREEN), in_force, outcome)


def test_only_what_never_runs_apart_is_tied() -> None:
    rng = np.random.default_rng(10)
    atoms = make_atoms(Problem(20, seed=1), hierarchy_of(Problem(20, seed=1)), ())
    history = []
    for _ in range(40):
        row = rng.random(20) < 0.5
        history.append(made(row, None if row[4] and not row[11] else 0.0))
    tied, parted = tie_atoms(atoms, history)
    assert (4, 11) in tied.sets
    assert len(tied) == len(atoms) - 1
    assert parted.max() < 0.5
    by_chance = [made(run.in_force, None if rng.random() < 0.1 else 0.0) for run in history]
    assert len(tie_atoms(atoms, by_chance)[0]) == len(atoms)


def test_atoms_have_a_side_in_each_run() -> None:
    atoms = Atoms(((0, 1, 2), (3,), (4,)), ((), (), ()))
    rows = [made(np.array(row, bool), 0.0) for row in ((1, 1, 1, 0), (1, 1, 0, 1), (0, 0, 1, 0))]
    assert atoms.columns(rows).tolist() == [[True, False, False], [True, True, False],
                                            [False, False, False]]  # fmt: skip
    assert atoms.are_whole(rows).tolist() == [True, False, False]


@pytest.mark.parametrize("items", [50, 256, 2000])
def test_a_flat_list_has_few_atoms_and_opens_to_its_items(items: int) -> None:
    problem = Problem(items, seed=1)
    labels = hierarchy_of(problem)
    opened: set[tuple[int, int]] = set()
    while True:
        atoms = make_atoms(problem, labels, opened)
        assert sorted(item for members in atoms.sets for item in members) == [*range(items + 1)]
        assert len(atoms) <= MOST + 1 + MOST * len(opened)
        holding = atoms.holding([items - 1])[0]
        if not atoms.groups[holding]:
            break
        opened |= set(atoms.groups[holding])
    assert atoms.sets[holding] == (items - 1,)
    assert len(opened) <= 3


def test_equal_labels_of_other_parents_are_other_groups() -> None:
    groups = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]).repeat(2, axis=0)
    problem = Problem(8, seed=1, groups=groups)
    labels = hierarchy_of(problem)
    atoms = make_atoms(problem, labels, ())
    assert atoms.sets == ((0, 1, 2, 3), (4, 5, 6, 7), (8,))
    atoms = make_atoms(problem, labels, {atoms.groups[1][0]})
    assert atoms.sets == ((0, 1, 2, 3), (4, 5), (6, 7), (8,))
