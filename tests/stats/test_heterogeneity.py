"""Runs that move, fall apart or stand alone are noticed; runs that merely differ are not."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.comparison.heterogeneity import heterogeneity_test, outlier_p


def test_runs_that_merely_differ_are_alike() -> None:
    found = [
        heterogeneity_test(
            "p50", np.random.default_rng(seed).normal(9, 0.3, 10).tolist(), 0.0125, 0.0025
        )
        for seed in range(200)
    ]
    assert sum(result is not None for result in found) <= 9


@pytest.mark.parametrize(
    ("logs", "what"),
    [
        (np.arange(10) * 0.1, "trend"),
        ([0, 1.01, 0.02, 1.0, 0.01, 0.99, 0, 1.02, 0.03, 1.0], "groups"),
        ([0, 0.1, -0.1, 0.05, 3, -0.05, 0.02, -0.08, 0.1, 0], "outlier"),
    ],
)
def test_what_sets_runs_apart_is_named(logs: list[float], what: str) -> None:
    found = heterogeneity_test("p50", list(logs), 0.0125, 0.0025)
    assert found is not None
    assert (found.statistic, found.what) == ("p50", what)


def test_a_trend_of_a_hundredth_does_not_matter() -> None:
    assert heterogeneity_test("p50", (np.arange(10) * 0.001).tolist(), 0.0125, 0.0025) is None


def test_the_odd_one_is_judged_by_grubbs_table() -> None:
    # Ten values: the 5 % point, two-sided, is 2.290.
    values = np.array([-1.0, 1, -1, 1, -1, 1, -1, 1, 0, 0])
    for furthest in np.linspace(2, 12, 4000):
        values[-1] = furthest
        if np.abs(values - values.mean()).max() / values.std(ddof=1) > 2.290:
            break
    assert outlier_p(values.tolist()) == pytest.approx(0.05, abs=1e-3)
    assert outlier_p([1.0] * 5) == 1.0
