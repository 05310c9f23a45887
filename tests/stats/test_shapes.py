"""Groups of runs by the shapes of their distributions: cases whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from whylate.stats.comparison.factorial import holm
from whylate.stats.comparison.shapes import (
    LEVEL,
    MOST_RUNS,
    group_shapes,
    rows_needed,
)

Int64s = NDArray[np.int64]
ROWS = 4_000


def body(seed: int, median: float = 5_000, sigma: float = 0.1, step: int = 1) -> Int64s:
    """Return a log-normal run."""
    rng = np.random.default_rng([71, seed])
    values = median * np.exp(sigma * rng.standard_normal(ROWS))
    return np.round(values / step).astype(np.int64) * step


def tailed(seed: int, part: float = 0.1) -> Int64s:
    """Return a run of which a part takes three times as long."""
    values = body(seed)
    late = np.random.default_rng([72, seed]).random(ROWS) < part
    values[late] *= 3
    return values


def groups(*runs: Int64s) -> list[list[int]]:
    return group_shapes(runs, np.random.default_rng(1)).groups


def test_runs_that_are_only_stretched_are_one_group() -> None:
    assert groups(body(1), body(2, 9_000), body(3, 700)) == [[0, 1, 2]]


def test_a_run_of_another_shape_is_a_group_of_its_own() -> None:
    found = group_shapes([body(1), tailed(2), body(3, 7_000)], np.random.default_rng(1))
    assert found.groups == [[0, 2], [1]]
    by_places = {(pair.first, pair.second): pair for pair in found.pairs}
    assert by_places[0, 1].adjusted <= LEVEL < by_places[0, 2].adjusted
    # p95 of 1 and p95 of 3 times the median.
    assert by_places[0, 1].quantile in (0.95, 0.99)
    assert 2 < by_places[0, 1].ratio < 4
    assert 1 / 4 < by_places[1, 2].ratio < 1 / 2


def test_a_wider_body_is_another_shape() -> None:
    assert groups(body(1, sigma=0.1), body(2, sigma=0.3)) == [[0], [1]]


def test_what_differs_by_less_than_matters_is_no_other_shape() -> None:
    """All quantiles of 0.05 to 0.9999 lie within 4 of sigma: 1 % against 2 % is below 1.05."""
    assert groups(body(1, sigma=0.010), body(2, sigma=0.018)) == [[0, 1]]


def test_steps_of_the_clock_are_no_shape() -> None:
    """With steps of 1 µs the medians of 4.5 and of 6.5 µs lie between two values each."""
    assert groups(*(body(seed, 4_500 + 1_000 * seed, step=1_000) for seed in range(3))) == [
        [0, 1, 2]
    ]


def test_a_body_of_two_peaks_is_scaled_by_more_than_its_median() -> None:
    """Half of the values are 300 and half 560: by chance the median is either."""

    def two_peaks(seed: int, part: float) -> Int64s:
        rng = np.random.default_rng([74, seed])
        return np.where(rng.random(ROWS) < part, 300, 560) + rng.integers(0, 9, ROWS)

    assert groups(two_peaks(1, 0.49), two_peaks(2, 0.51), 2 * two_peaks(3, 0.5)) == [[0, 1, 2]]
    assert groups(two_peaks(1, 0.49), two_peaks(2, 0.9)) == [[0], [1]]


def test_long_stretches_are_held_against_stretches() -> None:
    """Of 16 stretches half are twice as long, but not the same half: rows alone would differ."""
    rng = np.random.default_rng(73)

    def stretches(high: int) -> Int64s:
        levels = rng.permutation([2.0] * high + [1.0] * (16 - high))
        return np.concatenate([(1_000 * level * np.exp(0.02 * rng.standard_normal(500)))
                               .astype(np.int64) for level in levels])  # fmt: skip

    assert groups(stretches(6), stretches(7)) == [[0, 1]]


def test_all_equal_values_are_one_shape() -> None:
    assert groups(np.full(ROWS, 7), np.full(2 * ROWS, 9), np.full(ROWS, 1)) == [[0, 1, 2]]


def test_zeros_and_negative_values_have_a_place() -> None:
    early = body(1)
    early[::7] = -3
    assert groups(early, early[::-1].copy()) == [[0, 1]]
    assert groups(early, body(2)) == [[0], [1]]


def test_a_longer_run_is_as_like_as_a_short_one() -> None:
    long = np.concatenate([body(seed) for seed in range(30)])
    assert groups(long, body(99)[: rows_needed()]) == [[0, 1]]


def test_order_of_runs_changes_no_group() -> None:
    runs = [body(1), tailed(2), body(3), tailed(4)]
    assert groups(*runs) == [[0, 2], [1, 3]]
    assert groups(*runs[::-1]) == [[0, 2], [1, 3]]


def test_p_values_are_adjusted_by_holm() -> None:
    assert holm(np.array([0.01, 0.04, 0.03])) == pytest.approx([0.03, 0.06, 0.06])
    assert holm(np.array([0.5, 0.9])).tolist() == [1.0, 1.0]
    assert holm(np.array([])).tolist() == []


def test_few_rows_and_many_runs_are_refused() -> None:
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="fewer than 800 rows"):
        group_shapes([body(1), body(2)[: rows_needed() - 1]], rng)
    with pytest.raises(ValueError, match="more than 16"):
        group_shapes([body(1)] * (MOST_RUNS + 1), rng)
    assert group_shapes([], rng).groups == []
    assert group_shapes([body(1)], rng).groups == [[0]]


def test_of_runs_of_one_shape_few_are_split() -> None:
    """At the level of 5 % more than 8 of 60 have a chance of 1 in 250; the bench has the rate."""
    split = sum(len(groups(body(2 * n, step=10), body(2 * n + 1, 8_000))) > 1 for n in range(60))
    assert split <= 8
