import math
from typing import Any

import numpy as np
import pytest
from stats_examples import clustered, cpu_series, independent, ordered

from whylate.stats.run.extremes import (
    cluster_sizes,
    estimate_extremal_index,
    intervals_estimator,
    no_exceedance,
)


def _index(*series: Any) -> Any:
    return estimate_extremal_index(ordered(*series), series)


def _bound(*series: Any) -> Any:
    together = ordered(*series)
    of_rows, of_episodes = (
        estimate_extremal_index(together, series, of) for of in ("rows", "episodes")
    )
    return no_exceedance(together, series, of_rows, of_episodes)


def test_independent_rows_have_an_extremal_index_near_one() -> None:
    found = _index(cpu_series(independent(200_000)))
    assert found.estimate > 0.85
    assert 0.7 < found.cautious <= found.estimate


def test_bursts_of_five_have_an_extremal_index_of_a_fifth() -> None:
    found = _index(cpu_series(clustered(100_000, 400, 5, alike=True)))
    assert found.cautious <= found.estimate
    # The least of three thresholds: not above one in five by much, and not absurdly less.
    assert 0.08 < found.cautious < 0.25


def test_a_common_stall_halves_the_extremal_index() -> None:
    values = clustered(100_000, 300, 1)
    joint = _index(cpu_series(values), cpu_series(values, start_ns=100_000))
    single = _index(cpu_series(values))
    assert joint.cautious == pytest.approx(single.cautious / 2, rel=0.2)


def test_the_declustering_cuts_at_the_longest_gaps() -> None:
    place = np.array([10, 11, 12, 500, 501, 900])
    assert cluster_sizes(place, 0.4).tolist() == [3, 2, 1]


def test_gaps_of_one_row_only_are_one_cluster() -> None:
    place = np.arange(50)
    assert intervals_estimator(np.diff(place)) == pytest.approx(1 / 50)
    assert cluster_sizes(place, 0.02).tolist() == [50]


def test_the_bound_is_three_in_n_for_independent_rows() -> None:
    found = _bound(cpu_series(independent(100_000)))
    assert found.above_ns == int(independent(100_000).max())
    # 100 s were watched.
    assert found.once_in_s == pytest.approx(found.episode_theta * 100 / -math.log(0.05))
    assert found.effective_n == pytest.approx(found.theta * 100_000)
    assert found.fraction == pytest.approx(-math.log(0.05) / found.effective_n)
    assert 20 < found.once_in_s < 34


def test_the_time_of_the_bound_is_wall_time_not_cpu_time() -> None:
    one, two = cpu_series(independent(100_000, 1)), cpu_series(independent(100_000, 2), start_ns=1)
    found = _bound(one, two)
    assert found.once_in_s == pytest.approx(found.episode_theta * 100 / -math.log(0.05))
    assert found.effective_n == pytest.approx(found.theta * 200_000)


def test_a_stall_of_many_activations_is_one_event_in_time() -> None:
    # 20 stalls of 30 ms at 1 kHz, each 30 late rows whose windows overlap.
    values = independent(100_000)
    for start in np.sort(np.random.default_rng(4).choice(np.arange(0, 99_000, 60), 20, False)):
        values[start : start + 30] = np.arange(30, 0, -1) * 1_000_000 + start
    found = _bound(cpu_series(values))
    assert found.theta < 0.3
    assert found.episode_theta > 2 * found.theta


def test_few_rows_refuse_the_bound() -> None:
    found = _bound(cpu_series(independent(150)))
    assert (found.once_in_s, found.lacking) == (None, "clusters")


def test_a_single_stall_refuses_the_bound() -> None:
    values = np.full(20_000, 5_000)
    values[4_000:5_500] = 90_000
    assert _bound(cpu_series(values)).lacking == "clusters"


def test_equal_latencies_refuse_the_bound() -> None:
    assert _bound(cpu_series(np.full(50_000, 5_000))).lacking == "clusters"


def test_no_rows_refuse_the_bound() -> None:
    found = _bound(cpu_series([]))
    assert (found.above_ns, found.lacking) == (None, "none")


def test_a_maximum_that_is_an_overrun_refuses_the_bound() -> None:
    values = independent(50_000)
    values[777] = 10**7
    assert _bound(cpu_series(values, overrun=[777])).lacking == "overrun"
    assert _bound(cpu_series(values)).lacking is None


def test_overruns_below_the_activation_that_held_them_up_keep_the_bound() -> None:
    values = independent(50_000)
    values[777:780] = [3_500_000, 2_500_000, 1_500_000]
    found = _bound(cpu_series(values, overrun=[778, 779]))
    assert found.lacking is None
    assert found.above_ns == 3_500_000


def test_a_coarse_clock_does_not_take_the_extremal_index_away() -> None:
    fine = clustered(100_000, 150, 4, alike=True)
    coarse = fine // 60_000 * 60_000
    assert len(np.unique(coarse)) < 4
    assert _index(cpu_series(coarse)).cautious == pytest.approx(0.25, rel=0.4)


def test_ordinary_rows_above_the_threshold_do_not_hide_clusters() -> None:
    values = independent(20_000) // 10
    values[np.add.outer([2_000, 7_000, 11_000, 16_000], np.arange(6)).ravel()] = 90_000
    assert _index(cpu_series(values)).cautious < 0.3
