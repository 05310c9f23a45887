from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from stats_examples import blocks, clustered, cpu_series, independent, ordered

from whylate.stats.run.ordered import merge_ordered, sort_series
from whylate.stats.run.quantiles import estimate_quantile

P50, P99, P999 = Fraction(1, 2), Fraction(99, 100), Fraction(999, 1000)


def _quantile(q: Any, *series: Any) -> Any:
    return estimate_quantile(ordered(*series), series, blocks(*series), q)


def test_the_value_is_the_plain_order_statistic() -> None:
    values = np.random.default_rng(1).permutation(np.arange(1, 10_001))
    assert _quantile(P50, cpu_series(values)).value_ns == 5_000
    assert _quantile(P99, cpu_series(values)).value_ns == 9_900


def test_the_interval_holds_the_truth_of_independent_rows() -> None:
    truth = 5_000 + 10_000 * np.log(100)
    found = [_quantile(P99, cpu_series(independent(20_000, seed))) for seed in range(100)]
    assert sum(result.low_ns <= truth <= result.high_ns for result in found) >= 90
    width = np.mean([result.high_ns - result.low_ns for result in found])
    # 1.96 sd of an exponential's order statistic, both ways: not much wider than it has to be.
    assert width < 1.25 * 2 * 1.96 * 10_000 * np.sqrt(0.99 / 0.01 / 20_000)


def test_clusters_widen_the_interval() -> None:
    alone = _quantile(P99, cpu_series(clustered(100_000, 2_000, 1)))
    together = _quantile(P99, cpu_series(clustered(100_000, 200, 10)))
    assert together.effective_n < alone.effective_n / 3.5
    assert together.high_ns - together.low_ns > 1.8 * (alone.high_ns - alone.low_ns)


def test_fewer_than_ten_expected_exceedances_are_refused_and_told_how_many_would_do() -> None:
    found = _quantile(P999, cpu_series(independent(9_999)))
    assert (found.value_ns, found.lacking, found.needed_n) == (None, "few", 10_000)
    assert _quantile(P999, cpu_series(independent(10_000))).lacking != "few"


def test_two_bursts_are_too_few_episodes_for_an_upper_limit() -> None:
    found = _quantile(P999, cpu_series(clustered(20_000, 2, 20)))
    assert found.value_ns is None
    assert found.lacking == "dependent"
    assert found.needed_n > 20_000


def test_overruns_far_above_a_quantile_do_not_make_it_a_bound() -> None:
    values = np.r_[np.arange(100_000), np.full(5, 10**6)]
    found = _quantile(P50, cpu_series(values, overrun=range(100_000, 100_005)))
    assert found.at_least is False
    assert found.high_ns is not None


def test_overruns_with_bounds_below_a_quantile_make_it_a_lower_bound() -> None:
    rng = np.random.default_rng(2)
    values = rng.permutation(np.arange(100_000))
    low_bounds = np.flatnonzero(values < 900)
    plain = _quantile(P99, cpu_series(values))
    found = _quantile(P99, cpu_series(values, overrun=low_bounds.tolist()))
    assert found.value_ns == plain.value_ns
    assert found.at_least is True
    assert found.high_ns > plain.high_ns


def test_overruns_that_move_a_quantile_by_less_than_is_printed_leave_it_as_it_is() -> None:
    values = np.random.default_rng(2).permutation(np.arange(100_000))
    low_bounds = np.flatnonzero(values < 300)
    assert _quantile(P99, cpu_series(values, overrun=low_bounds.tolist())).at_least is False


def test_more_overruns_than_exceedances_leave_no_upper_limit() -> None:
    rng = np.random.default_rng(2)
    values = rng.permutation(np.arange(100_000))
    overruns = np.flatnonzero(values % 50 == 0)
    found = _quantile(P99, cpu_series(values, overrun=overruns.tolist()))
    assert found.value_ns == 98_999
    assert (found.high_ns, found.at_least, found.lacking) == (None, True, "overruns")


def test_only_overruns_give_a_lower_bound_and_nothing_else() -> None:
    found = _quantile(P50, cpu_series(np.arange(1_000), overrun=range(1_000)))
    assert (found.value_ns, found.high_ns, found.at_least) == (499, None, True)


def test_equal_latencies_have_an_interval_of_no_width() -> None:
    found = _quantile(P99, cpu_series(np.full(10_000, 7_000)))
    assert (found.low_ns, found.value_ns, found.high_ns) == (7_000, 7_000, 7_000)


def test_negative_latencies_are_kept() -> None:
    found = _quantile(
        P50, cpu_series(np.random.default_rng(4).permutation(np.arange(-1_000, 1_000)))
    )
    assert found.value_ns == -1
    assert found.low_ns < -1 < found.high_ns


def test_a_coarse_clock_does_not_hide_dependence() -> None:
    # Half of the run at 1 tick, half at 2: the median ties with half of all rows.
    values = np.repeat(np.tile([1_000, 2_000], 10), 5_000)
    found = _quantile(P50, cpu_series(values))
    assert found.value_ns is None or found.effective_n < 100


def test_a_common_stall_of_two_cpus_counts_once() -> None:
    both = clustered(50_000, 100, 5, seed=1)
    apart = clustered(50_000, 100, 5, seed=2)
    joint = _quantile(P99, cpu_series(both), cpu_series(both, start_ns=250_000))
    separate = _quantile(P99, cpu_series(both), cpu_series(apart, start_ns=250_000))
    assert joint.effective_n == pytest.approx(separate.effective_n / 2, rel=0.35)


def test_ten_events_that_look_independent_are_held_to_what_more_events_show() -> None:
    values = np.random.default_rng(6).integers(4_000, 6_000, 10_000)
    values[400:10_000:900] = 90_000 + np.arange(11)
    alone = _quantile(P999, cpu_series(values))
    for start in (1_000, 3_000, 5_000, 7_000):
        values[start : start + 10] = 50_000 + np.arange(10)
    assert alone.lacking is None
    assert _quantile(P999, cpu_series(values)).lacking == "dependent"


def test_ten_events_further_out_in_one_burst_are_not_hidden_by_as_many_ordinary_ones() -> None:
    values = np.random.default_rng(6).integers(4_000, 6_000, 20_000)
    values[500:20_000:1_700] = 7_000 + np.arange(12)
    spread = values.copy()
    spread[1_300:20_000:2_000] = 90_000 + np.arange(10)
    alone = _quantile(P999, cpu_series(spread))
    values[9_000:9_010] = 90_000 + np.arange(10)
    assert alone.lacking is None
    assert _quantile(P999, cpu_series(values)).lacking == "dependent"


def test_a_burst_among_the_latest_narrows_nothing_further_in() -> None:
    values = np.random.default_rng(6).integers(4_000, 6_000, 30_000)
    values[500:30_000:1_300] = 7_000 + np.arange(23)
    values[9_000:9_008] = 90_000 + np.arange(8)
    found = _quantile(P999, cpu_series(values))
    assert found.effective_n < 30_000 / 4


def test_below_and_above_a_tie_both_show_dependence() -> None:
    rng = np.random.default_rng(7)
    values = np.where(rng.random(100_000) < 0.1, 3_000, 2_000)
    values[20_000:40_000] = 1_000
    assert np.median(values) == 2_000
    found = _quantile(P50, cpu_series(values))
    assert found.value_ns is None or found.effective_n < 100


def test_rows_known_by_two_bounds_widen_the_interval_to_hold_both() -> None:
    values = independent(20_000)
    vague = np.random.default_rng(5).random(20_000) < 0.1
    least, most = (
        cpu_series(np.where(vague, 0, values)),
        cpu_series(np.where(vague, 2 * values, values)),
    )
    both = merge_ordered([sort_series(least, most)])
    found = estimate_quantile(both, [least], blocks(least), P50, most=[most])
    alone = [_quantile(P50, one) for one in (least, most)]
    assert found.value_ns == alone[0].value_ns
    assert found.low_ns <= alone[0].low_ns
    assert found.high_ns >= alone[1].high_ns
    assert found.at_least


def test_bounds_that_are_the_same_make_no_difference() -> None:
    values = cpu_series(independent(20_000))
    both = sort_series(values, values)
    assert estimate_quantile(both, [values], blocks(values), P99, most=[values]) == _quantile(
        P99, values
    )


def test_rows_that_are_vague_in_bursts_leave_a_wider_upper_end_than_scattered_ones() -> None:
    values = independent(40_000)
    scattered = np.arange(40_000) % 10 == 0
    bursts = np.arange(40_000) // 400 % 10 == 0
    found: list[Any] = []
    for vague in (scattered, bursts):
        least, most = (
            cpu_series(np.where(vague, 0, values)),
            cpu_series(np.where(vague, 60_000, values)),
        )
        both = sort_series(least, most)
        found.append(estimate_quantile(both, [least], blocks(least), Fraction(4, 5), most=[most]))
    even, uneven = found
    assert even.value_ns == pytest.approx(uneven.value_ns, rel=0.05)
    assert uneven.high_ns > 1.1 * even.high_ns
