"""The joint permutation test holds its level, is exact where runs are few, and sees differences."""

from __future__ import annotations

import math

import numpy as np
import pytest

from whylate.stats.comparison import joint
from whylate.stats.comparison.joint import (
    fewest_pairs,
    fewest_runs,
    joint_test,
    paired_test,
)

WEIGHTS = np.array([0.6, 1.0, 1.0])


def runs(rng: np.random.Generator, n: int, shift: float = 0.0) -> np.ndarray:
    """Return statistics of n runs that depend on each other, shape (n, 3)."""
    common = rng.standard_normal((n, 1))
    values: np.ndarray = common + 0.5 * rng.standard_normal((n, 3))
    values[:, 2] += shift
    return values


def test_of_four_runs_a_side_that_do_not_overlap_p_is_two_in_seventy() -> None:
    first = np.arange(4.0)[:, None] * [1, 2, 3]
    found = joint_test(first, first + 100, WEIGHTS, np.random.default_rng(1))
    assert found.every
    assert found.relabellings == math.comb(8, 4)
    assert found.p == pytest.approx(2 / 70)
    assert found.smallest_p == pytest.approx(2 / 70)
    assert (found.each >= found.p).all()
    assert (found.t > 0).all()


def test_of_six_pairs_that_all_rise_p_is_two_in_sixty_four() -> None:
    found = paired_test(np.linspace(1, 2, 18).reshape(6, 3), WEIGHTS, np.random.default_rng(1))
    assert found.paired
    assert found.p == pytest.approx(2 / 64)


def test_with_fewer_runs_nothing_can_show() -> None:
    assert (fewest_runs(0.05), fewest_pairs(0.05)) == (4, 6)
    three = joint_test(np.zeros((3, 1)), np.ones((3, 1)), np.ones(1), np.random.default_rng(1))
    assert three.p == pytest.approx(0.1)


def test_sides_that_are_swapped_differ_the_other_way_and_as_clearly() -> None:
    rng = np.random.default_rng(3)
    first, second = runs(rng, 5), runs(rng, 5, 1.0)
    there = joint_test(first, second, WEIGHTS, np.random.default_rng(1))
    back = joint_test(second, first, WEIGHTS, np.random.default_rng(1))
    assert there.p == pytest.approx(back.p)
    np.testing.assert_allclose(there.t, -back.t)


def test_t_is_students_where_nothing_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    from scipy.stats import ttest_ind, ttest_rel

    monkeypatch.setattr(joint, "_REACH", np.inf)
    rng = np.random.default_rng(4)
    first, second = rng.random((7, 3)), 0.1 + rng.random((9, 3))
    found = joint_test(first, second, WEIGHTS, rng)
    np.testing.assert_allclose(found.t, ttest_ind(second, first).statistic)
    pairs = paired_test(second[:7] - first, WEIGHTS, rng)
    # Under sign flips the variance is taken about zero; t follows from it alone.
    known = ttest_rel(second[:7], first).statistic
    np.testing.assert_allclose(pairs.t, known)


@pytest.mark.parametrize("wild", [2, 9])
def test_one_run_far_from_all_others_hides_nothing_that_the_others_show(wild: int) -> None:
    rng = np.random.default_rng(7)
    first, second = runs(rng, 20), runs(rng, 20) + 3.0
    first[wild, :] = 1000
    assert joint_test(first[:10], second[:10], WEIGHTS, rng).p < 0.02
    pairs = paired_test(second - first, WEIGHTS, rng)
    assert pairs.p < 0.02
    assert (pairs.t > 0).all()


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_one_run_in_ten_far_from_all_others_costs_little(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = runs(rng, 10), runs(rng, 10) + 10.0
    first[2, :] = 1000
    assert joint_test(first, second, WEIGHTS, rng).p < 0.005


def test_where_most_runs_are_equal_the_others_are_not_cut() -> None:
    first, second = np.zeros((6, 1)), np.array([[0.0], [5.0], [7.0], [9.0], [8.0], [6.0]])
    found = joint_test(first, second, np.ones(1), np.random.default_rng(1))
    from scipy.stats import ttest_ind

    assert found.t[0] == pytest.approx(ttest_ind(second[:, 0], first[:, 0]).statistic)


def test_the_level_holds_where_some_runs_lie_far_from_the_others() -> None:
    rng = np.random.default_rng(8)
    repetitions = 400
    found = [
        joint_test(rng.standard_t(1, (5, 3)), rng.standard_t(1, (5, 3)), WEIGHTS, rng).p <= 0.05
        for _ in range(repetitions)
    ]
    assert sum(found) <= 0.05 * repetitions + 2.5 * math.sqrt(0.05 * 0.95 * repetitions)


def test_true_null_hypotheses_are_rejected_as_often_as_said() -> None:
    rng = np.random.default_rng(5)
    repetitions, rejected, each, paired = 400, 0, 0, 0
    for _ in range(repetitions):
        first, second = runs(rng, 5), runs(rng, 5)
        found = joint_test(first, second, WEIGHTS, rng)
        rejected += found.p <= 0.05
        each += found.each.min() <= 0.05
        paired += paired_test(runs(rng, 7) - runs(rng, 7), WEIGHTS, rng).p <= 0.05
    # Twice the standard error of 5 % in 400.
    assert rejected <= 0.072 * repetitions
    assert each <= rejected
    assert paired <= 0.072 * repetitions
    assert rejected >= 0.02 * repetitions


def test_a_difference_in_one_statistic_is_named() -> None:
    rng = np.random.default_rng(6)
    named, others = 0, 0
    for _ in range(60):
        found = joint_test(runs(rng, 8), runs(rng, 8, 4.0), WEIGHTS, rng)
        named += found.each[2] <= 0.05
        others += found.each[0] <= 0.05
    assert named > 50
    assert others < 8


def test_many_runs_are_relabelled_at_random_and_the_real_one_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joint, "MOST_RELABELLINGS", 3000)
    rng = np.random.default_rng(7)
    found = joint_test(runs(rng, 20), runs(rng, 20, 9.0), WEIGHTS, rng)
    assert not found.every
    assert found.relabellings == 3000
    assert found.p == pytest.approx(1 / 3000)
    pairs = paired_test(runs(rng, 20, 9.0) - runs(rng, 20), WEIGHTS, rng)
    assert 1 / 3000 <= pairs.p < 0.05


def test_what_is_the_same_in_all_runs_shows_nothing() -> None:
    first = np.column_stack([np.ones(5), np.arange(5.0)])
    second = np.column_stack([np.ones(5), np.arange(5.0) + 0.5])
    found = joint_test(first, second, np.ones(2), np.random.default_rng(1))
    assert found.each[0] == 1.0
    assert found.t[0] == 0.0
    assert np.isfinite(found.t).all()


@pytest.mark.parametrize("sides", [((0, 2), (3, 2)), ((3, 2), (3, 1))])
def test_what_cannot_be_compared_is_refused(sides: tuple[tuple[int, int], tuple[int, int]]) -> None:
    first, second = (np.zeros(shape) for shape in sides)
    with pytest.raises(ValueError, match="runs on both sides"):
        joint_test(first, second, np.ones(2), np.random.default_rng(1))
