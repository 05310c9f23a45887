"""Runs that fall into two groups are seen, and others are not said to."""

from __future__ import annotations

import numpy as np

from whylate.stats.comparison.heterogeneity import modes_test


def test_two_groups_of_runs_are_told_apart() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.normal(0, 0.02, 7), rng.normal(1, 0.02, 4)])
    found = modes_test(values)
    assert found is not None
    assert found.upper.tolist() == [False] * 7 + [True] * 4
    assert found.low < 0.1
    assert found.high > 0.9


def test_one_group_is_seldom_taken_for_two() -> None:
    rng = np.random.default_rng(2)
    told = sum(modes_test(rng.normal(0, 1, 12)) is not None for _ in range(500))
    assert told <= 12


def test_few_runs_and_equal_runs_have_no_groups() -> None:
    assert modes_test(np.array([0.0, 0.0, 0.0, 1.0, 1.0])) is None
    assert modes_test(np.zeros(10)) is None
