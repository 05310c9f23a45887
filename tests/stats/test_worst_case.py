"""Claims of rarity hold as often as they say."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.tail.worst_case import (
    ObservedRun,
    estimate_pooled_rate,
    more_seconds_to_claim,
    seconds_to_claim,
    seconds_until,
)


def test_without_an_episode_it_is_the_rule_of_three() -> None:
    found = estimate_pooled_rate([ObservedRun(0, 600, 1.0), ObservedRun(0, 400, 1.0)])
    assert found.high_per_s == pytest.approx(2.9957 / 1000, rel=1e-3)
    assert found.low_per_s == 0
    half = estimate_pooled_rate([ObservedRun(0, 1000, 0.5)])
    assert half.high_per_s == pytest.approx(2 * found.high_per_s)
    assert seconds_to_claim(found.high_per_s) == pytest.approx(1000)


@pytest.mark.parametrize("sizes", [(1,), (1, 5)])
def test_limits_hold_the_rate_also_where_episodes_come_in_clusters(sizes: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    mean = float(np.mean(sizes))
    wrong = [0, 0]
    for _ in range(2000):
        counts = [int(rng.choice(sizes, rng.poisson(3 / mean)).sum()) for _ in range(6)]
        found = estimate_pooled_rate([ObservedRun(count, 100, 1 / mean) for count in counts])
        wrong[0] += found.low_per_s > 0.03
        wrong[1] += found.high_per_s < 0.03
    assert max(wrong) <= 0.06 * 2000


def test_runs_that_differ_among_each_other_make_it_less_sure() -> None:
    even = estimate_pooled_rate([ObservedRun(10, 100, 1.0)] * 6)
    uneven = estimate_pooled_rate([ObservedRun(count, 100, 1.0) for count in (0, 0, 0, 0, 0, 60)])
    assert even.scale == 1.0
    assert uneven.scale > 20
    assert uneven.high_per_s > 1.5 * even.high_per_s


def test_whoever_stops_at_the_first_chance_errs_no_more_often() -> None:
    rng = np.random.default_rng(2)
    per_s, wrong, repetitions = 0.01, 0, 4000
    until = [seconds_until(per_s, number, 1.0) for number in range(60)]
    assert until == sorted(until)
    for _ in range(repetitions):
        # The truth is just what is claimed not to be.
        times = np.cumsum(rng.exponential(1 / per_s, 60))
        wrong += any(times[number] > until[number] for number in range(60))
    assert wrong <= 0.057 * repetitions


def test_how_much_more_would_do() -> None:
    found = estimate_pooled_rate([ObservedRun(2, 1000, 1.0)])
    more = more_seconds_to_claim(found, 0.004)
    assert more is not None
    assert 1000 < more < 6000
    assert more_seconds_to_claim(found, 0.002) is None


def test_a_maximum_that_has_not_risen_says_nothing() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((4000, 200))
    rose = values[:, 100:].max(axis=1) > values[:, :100].max(axis=1)
    assert rose.mean() == pytest.approx(1 / 2, abs=0.03)


def test_nothing_watched_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing was watched"):
        estimate_pooled_rate([])
