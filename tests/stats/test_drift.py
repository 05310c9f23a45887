from typing import Any

import numpy as np
import pytest
from stats_examples import autoregressive, cpu_series, ordered

from whylate.stats.run.drift import kendall_p, trend_tests


def _alarm(*series: Any) -> Any:
    found = trend_tests(ordered(*series), series)
    return [trend for trend in found if trend.p_value < 0.01 / len(found)]


def test_kendalls_p_is_that_of_the_known_variance() -> None:
    # 6 values, one inversion: S = 13, var = 28.33, z = 12 / 5.323.
    assert kendall_p(np.array([1.0, 2, 3, 4, 6, 5])) == pytest.approx(0.02417, abs=2e-4)


def test_equal_blocks_show_no_trend() -> None:
    assert kendall_p(np.full(80, 3.0)) == 1.0


def test_blocks_that_depend_on_each_other_raise_few_false_alarms() -> None:
    alarms = 0
    for seed in range(200):
        noise = np.random.default_rng(seed).standard_normal(120)
        values = np.zeros(120)
        for block in range(1, 120):
            values[block] = 0.6 * values[block - 1] + noise[block]
        alarms += kendall_p(values[20:]) < 0.01
    # Without the allowance for dependence there are about 40.
    assert alarms <= 12


def test_many_equal_counts_do_not_pass_for_dependence() -> None:
    counts = np.r_[np.tile([3.0, 5.0, 4.0], 15), np.zeros(45)]
    assert kendall_p(counts) < 1e-6


def test_a_steady_run_with_dependence_raises_no_alarm() -> None:
    alarms = [bool(_alarm(cpu_series(autoregressive(12_000, 0.9, seed)))) for seed in range(60)]
    assert sum(alarms) <= 3


def test_a_median_that_rises_by_a_tenth_is_found_with_its_size() -> None:
    values = autoregressive(100_000, 0.9, 7) * np.linspace(1.0, 1.1, 100_000)
    found = {trend.statistic: trend for trend in _alarm(cpu_series(values))}
    assert found["p50"].change == pytest.approx(400, rel=0.15)
    assert found["p50"].level == pytest.approx(5_250, rel=0.03)
    assert found["p99"].change > 0


@pytest.mark.parametrize("at", [10_000, 25_000, 40_000])
def test_a_step_within_the_run_is_found(at: int) -> None:
    values = autoregressive(50_000, 0.9, 7)
    values[at:] = values[at:] * 6 // 5
    found = {trend.statistic: trend for trend in _alarm(cpu_series(values))}
    assert found["p50"].change == pytest.approx(1_000, rel=0.15)


def test_late_activations_that_grow_in_number_are_found() -> None:
    rng = np.random.default_rng(9)
    values = autoregressive(200_000, 0.0, 3)
    late = rng.random(200_000) < 4e-3 * np.linspace(0, 1, 200_000)
    found = {trend.statistic: trend for trend in _alarm(cpu_series(np.where(late, 80_000, values)))}
    assert found["late"].change > 0
    assert "p50" not in found


def test_the_series_that_drifts_is_named() -> None:
    steady, rising = autoregressive(50_000, 0.5, 1), autoregressive(50_000, 0.5, 2)
    assert {
        trend.series
        for trend in _alarm(cpu_series(steady), cpu_series(rising * np.linspace(1, 1.2, 50_000)))
        if trend.series is not None
    } == {1}


def test_a_gap_is_not_a_drift() -> None:
    values = autoregressive(40_000, 0.5, 5)
    numbers = np.r_[0:39_000, 79_000:80_000]
    assert _alarm(cpu_series(values, activation=numbers)) == []


@pytest.mark.parametrize("n", [0, 1, 500])
def test_a_short_run_is_not_tested(n: Any) -> None:
    assert trend_tests(ordered(cpu_series(np.full(n, 5))), [cpu_series(np.full(n, 5))]) == []
