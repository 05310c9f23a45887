"""Lines and peaks of executions: those that are published, and those that are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from whylate.stats.executions.line import Line, fit_line, mean_interval
from whylate.stats.executions.peak import Peak, find_peak

#: Published: cycles and I-cache stalls of the longest executions of do_local_timer().
CYCLES = [35641, 35242, 34644, 34242, 34107, 31006, 30911, 30576, 29142, 26209, 24752]
STALLS = [26480, 23675, 26020, 25255, 23934, 23436, 23472, 22745, 20106, 17026, 16127]


def floats(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(values, np.float64)


def test_the_published_executions_have_the_published_line() -> None:
    line = fit_line(floats(STALLS), floats(CYCLES))
    assert isinstance(line, Line)
    assert round(line.intercept) == 8505
    assert round(line.slope, 3) == 1.019
    assert round(line.r, 3) == 0.947
    assert line.n == 11


def test_the_interval_of_a_slope_is_the_one_of_a_textbook() -> None:
    """By the formulas, with a quantile of Student's t from a printed table."""
    x, y = floats(STALLS), floats(CYCLES)
    sxx = ((x - x.mean()) ** 2).sum()
    slope = ((x - x.mean()) * (y - y.mean())).sum() / sxx
    rest = y - y.mean() - slope * (x - x.mean())
    half = 2.262157 * np.sqrt((rest**2).sum() / 9 / sxx)
    line = fit_line(x, y)
    assert isinstance(line, Line)
    assert line.low == pytest.approx(slope - half, rel=1e-6)
    assert line.high == pytest.approx(slope + half, rel=1e-6)


def test_the_interval_covers_the_slope_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        x = rng.normal(0, 1, 5)
        line = fit_line(x, 3 * x + rng.normal(0, 1, 5))
        assert isinstance(line, Line)
        covered += line.low <= 3 <= line.high
    assert 0.935 < covered / 2000 < 0.965


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1, 2], [1, 2], "a line takes 3 points; there are 2"),
        ([1], [1], "there are 1"),
        ([5, 5, 5], [1, 2, 3], "all x are equal"),
        ([1, 2, 3], [5, 5, 5], "all y are equal"),
    ],
)
def test_a_line_that_nothing_shows_is_refused(x: list[int], y: list[int], reason: str) -> None:
    refused = fit_line(floats(x), floats(y))
    assert isinstance(refused, str)
    assert reason in refused


def test_three_points_have_a_line() -> None:
    line = fit_line(floats([1, 2, 3]), floats([1, 3, 4]))
    assert isinstance(line, Line)
    assert line.low < line.slope < line.high


def test_the_interval_of_a_line_is_that_of_its_mean() -> None:
    # By hand: y = 1 + 2 x, residuals 0.5, -1, 0.5 of 1 degree of freedom: s² = 1.5, t = 12.706.
    ends = mean_interval(floats([0, 1, 2]), np.array([1.5, 2, 5.5]), floats([1, 2]))
    assert ends is not None
    low, high = ends
    assert (low + high).tolist() == pytest.approx([6, 10])
    half = 12.7062 * math.sqrt(1.5)
    assert ((high - low) / 2).tolist() == pytest.approx(
        [half * math.sqrt(1 / 3), half * math.sqrt(1 / 3 + 1 / 2)], rel=1e-4
    )
    assert mean_interval(floats([1, 1, 1]), floats([1, 2, 3]), floats([1])) is None


def test_counters_as_large_as_they_may_be_have_a_line() -> None:
    line = fit_line(floats([2**53, 0, 2**52]), floats([0, 2**53, 2**52]))
    assert isinstance(line, Line)
    assert line.slope == pytest.approx(-1)
    assert line.r == pytest.approx(-1)


def test_the_most_frequent_value_is_that_of_the_peak() -> None:
    rng = np.random.default_rng(2)
    values = np.concatenate([rng.normal(2850, 25, 5000), rng.uniform(3000, 8300, 100)])
    peak = find_peak(values)
    assert isinstance(peak, Peak)
    assert peak.value == pytest.approx(2850, rel=0.03)


def test_zeros_are_a_value_of_their_own() -> None:
    zero = find_peak(np.concatenate([np.zeros(60), np.arange(1.0, 61.0)]))
    assert isinstance(zero, Peak)
    assert zero.value == 0
    assert zero.low == 0
    none = find_peak(np.zeros(200))
    assert isinstance(none, Peak)
    assert (none.low, none.high, none.near) == (0, 0, 1)
    seven = find_peak(np.concatenate([np.zeros(20), np.full(100, 7.0)]))
    assert isinstance(seven, Peak)
    assert seven.value == 7
    assert seven.low < 7 < seven.high
    assert seven.near == 100 / 120


def test_the_share_near_the_peak_and_its_interval_are_those_of_do_local_timer() -> None:
    """99.7 % of executions have 2,700 to 3,000 instructions, as is published."""
    rng = np.random.default_rng(3)
    usual = rng.uniform(2790, 2910, 9970) + rng.normal(0, 10, 9970)
    values = rng.permutation(np.concatenate([usual, rng.uniform(3200, 8300, 30)]))
    peak = find_peak(values)
    assert isinstance(peak, Peak)
    assert peak.near == pytest.approx(0.997, abs=0.001)
    assert peak.near_low == pytest.approx(0.95 * peak.value)
    assert peak.near_high == pytest.approx(1.05 * peak.value)
    assert peak.low <= peak.value <= peak.high
    assert peak.low > 2700
    assert peak.high < 3000


def test_two_peaks_of_one_height_are_both_in_the_interval() -> None:
    rng = np.random.default_rng(4)
    values = rng.permutation(np.concatenate([rng.normal(1000, 3, 500), rng.normal(2000, 6, 500)]))
    peak = find_peak(values)
    assert isinstance(peak, Peak)
    assert peak.low < 1000
    assert peak.high > 2000


def test_values_that_come_in_long_stretches_leave_the_peak_open() -> None:
    """One of two values comes in 6 of 10 stretches: which is the more frequent is chance."""
    rng = np.random.default_rng(5)
    stretches = [rng.normal(1000 if s in (0, 1, 4, 5, 8, 9) else 2000, 2, 100) for s in range(10)]
    mixed = np.concatenate(stretches)
    apart, together = find_peak(mixed), find_peak(rng.permutation(mixed))
    assert isinstance(apart, Peak)
    assert isinstance(together, Peak)
    assert apart.high > 2000
    assert together.high < 1100


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (np.full(99, 5.0), "takes 100 values; there are 99"),
        (np.exp2(np.arange(100.0) / 2), "no value is frequent: it takes 10 within 2.9 %"),
    ],
)
def test_without_enough_values_none_is_the_most_frequent(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], reason: str
) -> None:
    refused = find_peak(values)
    assert isinstance(refused, str)
    assert reason in refused
