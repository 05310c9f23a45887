import math
from typing import Any

import numpy as np
import pytest
from stats_examples import clustered, cpu_series, independent, ordered

from whylate.stats.run.episodes import episode_peaks, episode_starts
from whylate.stats.run.extremes import estimate_extremal_index
from whylate.stats.run.rates import estimate_episode_rate


def _rate(limit_ns: Any, *series: Any) -> Any:
    return estimate_episode_rate(
        series, limit_ns, estimate_extremal_index(ordered(*series), series, "episodes")
    )


def test_a_stall_with_its_overruns_is_one_episode() -> None:
    values = np.full(100, 5_000)
    values[40:43] = [2_900_000, 1_900_000, 900_000]
    starts = episode_starts([cpu_series(values, overrun=[41, 42])], 100_000)
    assert [start.tolist() for start in starts] == [[40]]


def test_a_stall_of_two_cpus_is_one_episode() -> None:
    first, second = np.full(100, 5_000), np.full(100, 5_000)
    first[40], second[40], second[70] = 800_000, 500_000, 200_000
    series = [cpu_series(first), cpu_series(second, start_ns=300_000)]
    starts = episode_starts(series, 100_000)
    assert [start.tolist() for start in starts] == [[40], [70]]


def test_windows_that_do_not_overlap_are_episodes_of_their_own() -> None:
    values = np.full(100, 5_000)
    values[40:42] = 900_000
    starts = episode_starts([cpu_series(values)], 100_000)
    assert starts[0].tolist() == [40, 41]


def test_an_activation_as_late_as_the_limit_is_not_above_it() -> None:
    values = np.full(10, 5_000)
    values[4] = 100_000
    assert _rate(100_000, cpu_series(values)).episodes == 0
    assert _rate(99_999, cpu_series(values)).episodes == 1


def test_no_episode_bounds_the_rate_by_three_in_the_effective_time() -> None:
    one = cpu_series(independent(100_000))
    index = estimate_extremal_index(ordered(one), [one], "episodes")
    assert index is not None
    rate = estimate_episode_rate([one], 10**7, index)
    assert (rate.episodes, rate.low_per_s) == (0, 0.0)
    assert rate.high_per_s == pytest.approx(-math.log(0.05) / index.cautious / 100)


def test_the_limits_hold_the_true_rate_of_independent_episodes() -> None:
    # One in 1000 exceeds, at 1 kHz: one a second.
    limit = round(5_000 + 10_000 * math.log(1000))
    rates = [_rate(limit, cpu_series(independent(150_000, seed))) for seed in range(60)]
    assert sum(rate.low_per_s <= 1.0 for rate in rates) >= 54
    assert sum(rate.high_per_s >= 1.0 for rate in rates) >= 54
    assert np.mean([rate.high_per_s for rate in rates]) < 1.35


def test_episodes_in_bursts_have_wider_limits_than_as_many_alone() -> None:
    # Bursts whose windows do not overlap: every activation is an episode, but not independent.
    alone = _rate(20_000, cpu_series(clustered(100_000, 1_000, 1)))
    bursts = _rate(20_000, cpu_series(clustered(100_000, 100, 10)))
    assert alone.episodes == bursts.episodes == 1_000
    assert bursts.high_per_s - bursts.low_per_s > 2 * (alone.high_per_s - alone.low_per_s)


def test_without_an_extremal_index_all_episodes_may_be_one_event() -> None:
    values = np.full(50, 5_000)
    values[[10, 20, 30]] = 200_000
    rate = estimate_episode_rate([cpu_series(values)], 100_000, None)
    assert (rate.episodes, rate.high_per_s) == (3, None)
    assert rate.low_per_s == pytest.approx(-3 * math.log(0.95) / 0.05)


def test_no_rows_say_nothing() -> None:
    assert estimate_episode_rate([cpu_series([])], 100_000, None).high_per_s is None
    assert estimate_episode_rate([], 100_000, None).episodes == 0


def test_the_peak_of_a_stall_is_its_longest_and_is_known() -> None:
    values = np.full(100, 5_000)
    values[40:43] = [2_900_000, 1_900_000, 900_000]
    values[70] = 300_000
    found = episode_peaks([cpu_series(values, overrun=[41, 42])], 100_000)
    assert found.latency_ns.tolist() == [2_900_000, 300_000]
    assert found.at_least.tolist() == [False, False]


def test_the_peak_of_two_cpus_is_that_of_the_later_one() -> None:
    first, second = np.full(100, 5_000), np.full(100, 5_000)
    first[40], second[40], second[70] = 500_000, 800_000, 200_000
    found = episode_peaks([cpu_series(first), cpu_series(second, start_ns=300_000)], 100_000)
    assert found.latency_ns.tolist() == [800_000, 200_000]
    assert episode_peaks([cpu_series(first)], 10**9).latency_ns.size == 0


def test_a_peak_that_only_an_overrun_has_is_a_lower_bound() -> None:
    values = np.full(100, 5_000)
    values[40:43] = [1_500_000, 1_900_000, 900_000]
    values[70] = 300_000
    found = episode_peaks([cpu_series(values, overrun=[41, 42, 70])], 100_000)
    assert found.at_least.tolist() == [True, True]
