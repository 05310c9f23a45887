"""Integrals of the search are those that a grid gives; neighbours say what may build."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from whylate.stats.arrays import Floats
from whylate.stats.ordered_search.builds import LENGTHS, PARTS, builds_probability
from whylate.stats.ordered_search.drift import DRIFTS, Drift
from whylate.stats.ordered_search.regression import (
    fit_none,
    fit_pairs,
    fit_single,
    look_ahead,
    project,
)

VALUES = np.array([0.1, 1.4, -0.6, 2.2, 0.9, 3.1])
COLUMNS = np.array([[0.0, 1, 0, 1, 0, 1], [0.0, 0, 0, 1, 1, 1]])
DRIFT = Drift(walk=0.05, slope=0.002, jump=0.7, after=0.5)


def covariance(n: int) -> Floats:
    # The jump is after the third of six runs.
    runs = np.arange(1.0, n + 1)
    walked: Floats = np.eye(n) + DRIFT.walk * np.minimum.outer(runs, runs)
    jumped = runs > 3
    return walked + DRIFT.slope * np.outer(runs, runs) + DRIFT.jump * np.outer(jumped, jumped)


def likelihood(values: Floats, columns: Floats, g: float) -> float:
    """Integrate over the logarithm of s and steps in units of s, on a grid; mu by hand."""
    n = len(values)
    precision = np.linalg.inv(covariance(n))
    sums = precision.sum(axis=1)
    centred = precision - np.outer(sums, sums) / sums.sum()
    log_s = np.linspace(-3, 4, 301)
    axis = np.linspace(-12, 12, 161)
    prior = axis**2 / g * norm.pdf(axis, 0, np.sqrt(g))
    steps = np.zeros(0)
    if len(columns):
        steps = np.stack(np.meshgrid(*[axis] * len(columns), indexing="ij"), axis=-1)
    weights = np.ones(steps.shape[:-1])
    for place in range(len(columns)):
        weights = weights * prior[np.arange(161)].reshape(
            [-1 if k == place else 1 for k in range(len(columns))]
        )
    off = steps @ columns
    inner = []
    for s in np.exp(log_s):
        left = values - s * off
        squares = np.einsum("...i,ij,...j->...", left, centred, left)
        total = weights * np.exp(-squares / (2 * s * s)) * s ** -(n - 1.0)
        for _ in range(len(columns)):
            total = trapezoid(total, axis, axis=0)
        inner.append(float(total))
    return float(trapezoid(inner, log_s))


@pytest.mark.parametrize("g", [0.5, 4.0])
def test_one_step_weighs_what_a_grid_gives(g: float) -> None:
    sums = project(VALUES, COLUMNS, DRIFT)
    none = likelihood(VALUES, COLUMNS[:0], g)
    closed = np.exp(fit_single(sums, g, 6).log_likelihood - fit_none(sums, 6))
    for place in (0, 1):
        grid = likelihood(VALUES, COLUMNS[place : place + 1], g) / none
        assert closed[place] == pytest.approx(grid, rel=1e-4)


def test_two_steps_weigh_what_a_grid_gives() -> None:
    # Columns that are alike but for a run, so that their steps depend on each other.
    columns = np.array([COLUMNS[0], [0.0, 1, 0, 1, 1, 1]])
    sums = project(VALUES, columns, DRIFT)
    grid = likelihood(VALUES, columns, 4.0) / likelihood(VALUES, columns[:0], 4.0)
    closed = np.exp(fit_pairs(sums, 4.0, 6).log_likelihood - fit_none(sums, 6))
    assert closed[0, 1] == pytest.approx(grid, rel=1e-4)
    assert closed[0, 1] == pytest.approx(closed[1, 0])


def test_a_prediction_without_a_step_is_that_of_the_covariance() -> None:
    ahead = look_ahead(project(VALUES, COLUMNS, DRIFT), VALUES, COLUMNS)
    whole = covariance(7)
    precision = np.linalg.inv(whole[:6, :6])
    mean = precision.sum(axis=1) @ VALUES / precision.sum()
    expected = mean + whole[6, :6] @ precision @ (VALUES - mean)
    assert ahead.mean == pytest.approx(expected)
    level = 1 - whole[6, :6] @ precision.sum(axis=1)
    variance = whole[6, 6] - whole[6, :6] @ precision @ whole[:6, 6] + level**2 / precision.sum()
    assert ahead.variance == pytest.approx(variance)


@pytest.mark.parametrize(
    "drift", [Drift(), Drift(walk=0.3), Drift(slope=0.01), Drift(jump=2.0), DRIFT]
)
def test_a_drift_solves_as_its_covariance_does(drift: Drift) -> None:
    rows = np.vstack([VALUES, COLUMNS])
    whole = drift.covariance(6)
    solved, log_determinant = drift.solve(rows)
    assert solved == pytest.approx(rows @ np.linalg.inv(whole))
    assert log_determinant == pytest.approx(np.linalg.slogdet(whole)[1])


def test_the_prior_of_drifts_sums_to_one() -> None:
    assert sum(prior for _, prior in DRIFTS) == pytest.approx(1)


def test_neighbours_of_a_failure_fail_more_probably() -> None:
    known = {0: True, 40: False, 44: False, 70: True, 99: True}
    probability = builds_probability(known, 100)
    assert [probability[version] for version in known] == list(known.values())
    assert probability[42] < 0.5 < probability[85]
    assert probability[41] < probability[30] < probability[10]
    assert builds_probability({0: True, 99: True}, 100).min() == 1
    # As rare as elsewhere, far from what is known.
    assert builds_probability({0: True, 500: False, 99_999: True}, 100_000)[50_000] > 0.6
    with pytest.raises(ValueError, match="must be known"):
        builds_probability({0: True}, 100)


def test_what_builds_is_the_sum_over_all_paths() -> None:
    size, known = 7, {0: True, 2: False, 6: True}
    weights = np.zeros(2)
    builds = np.zeros(size)
    for part in PARTS:
        for length in np.maximum(1.0, LENGTHS * size):
            change = min(1.0, 1 / (length * (1 - part)))
            leave = {True: part * change, False: (1 - part) * change}
            for states in product([False, True], repeat=size):
                if any(states[place] != state for place, state in known.items()):
                    continue
                path = 1.0
                for before, after in pairwise(states):
                    path *= leave[before] if before != after else 1 - leave[before]
                weights += path
                builds += path * np.array(states)
    assert builds_probability(known, size) == pytest.approx(builds / weights[0])
