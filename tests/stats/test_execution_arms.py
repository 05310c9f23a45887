"""What a treatment before executions changes, of durations that are made up."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.executions.arms import Arm, Comparison, compare_arms, median_of_bins

EXECUTIONS = 2_000


def arms(seed: int, *, slower: float = 1.0, fewer_longer: float = 1.0) -> tuple[Arm, Arm]:
    """Return placebo and treated executions of 1 us, one of 25 of which is ten times as long.

    slower: what the treatment multiplies durations by; fewer_longer: how many remain longer.
    """
    rng = np.random.default_rng(seed)
    began = np.arange(EXECUTIONS) * 1_000_000
    duration = 1_000 * np.exp(rng.normal(0, 0.05, EXECUTIONS))
    is_treated = rng.random(EXECUTIONS) < 0.5
    part = np.where(is_treated, fewer_longer, 1.0) * 0.04
    duration[rng.random(EXECUTIONS) < part] *= 10
    duration[is_treated] *= slower
    made = [Arm(began[rows], duration[rows].astype(np.int64)) for rows in (~is_treated, is_treated)]
    return made[0], made[1]


def clear(compared: Comparison) -> tuple[bool, bool]:
    """Whether the median, and the excess, surely change."""
    both = []
    for change in (compared.median_ns, compared.excess_ns):
        assert change.low is not None
        assert change.high is not None
        assert change.low <= change.value <= change.high
        both.append(not change.low <= 0 <= change.high)
    return both[0], both[1]


def test_without_an_effect_both_figures_rarely_change() -> None:
    """Each at most in 5 % of cases: of 40, more than 6 would have a probability of 0.3 %."""
    shown = np.array([clear(compare_arms(*arms(seed), seed)) for seed in range(40)])
    assert (shown.sum(axis=0) <= 6).all()


def test_a_slower_median_is_a_change() -> None:
    compared = compare_arms(*arms(1, slower=1.1), 1)
    assert clear(compared)[0]
    assert compared.median_ns.value == pytest.approx(100, abs=10)
    assert compared.limit_ns == pytest.approx(2_000, rel=0.01)


def test_longer_executions_that_go_away_are_a_share_of_the_excess() -> None:
    """Three of four of them: the median stays, and 75 % of the excess goes."""
    compared = compare_arms(*arms(3, fewer_longer=0.25), 3)
    assert clear(compared) == (False, True)
    share = compared.share
    assert share is not None
    assert share.low is not None
    assert share.high is not None
    assert 0.3 < share.low < 0.75 < share.high < 1
    assert compared.placebo.longer > 2 * compared.treated.longer
    assert compared.placebo.excess_ns == pytest.approx(0.04 * 9_000, rel=0.4)


def test_few_longer_executions_bound_nothing() -> None:
    rng = np.random.default_rng(3)
    made = [Arm(np.arange(400) * 1_000_000, rng.integers(900, 1_100, 400)) for _ in range(2)]
    made[0].duration_ns[7] = 50_000
    compared = compare_arms(made[0], made[1], 3)
    assert compared.excess_ns.low is None
    assert compared.share is not None
    assert compared.share.high is None
    assert compared.median_ns.low is not None


def test_durations_that_are_all_the_same_have_no_change() -> None:
    same = Arm(np.arange(200) * 1_000_000, np.full(200, 930))
    compared = compare_arms(same, same, 4)
    assert (compared.median_ns.value, compared.median_ns.low, compared.median_ns.high) == (0, 0, 0)
    assert compared.share is None


def test_an_arm_without_an_execution_is_refused() -> None:
    none = Arm(np.empty(0, np.int64), np.empty(0, np.int64))
    with pytest.raises(ValueError, match="both arms"):
        compare_arms(none, Arm(np.arange(3), np.arange(3)), 1)


def test_the_median_of_bins_lies_within_its_interval_of_whole_bins() -> None:
    lows, highs = np.array([10, 20, 30]), np.array([20, 30, 40])
    counted = median_of_bins(lows, highs, np.array([30, 40, 30]))
    assert (counted.value, counted.low, counted.high) == (25, 20, 30)
    few = median_of_bins(lows, highs, np.array([1, 1, 1]))
    assert (few.low, few.high) == (10, 40)
    with pytest.raises(ValueError, match="no value"):
        median_of_bins(lows[:0], highs[:0], lows[:0])
