"""Preventable shares: Fieller's interval, and what few or no late episodes leave open."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.comparison.preventable import (
    LateTime,
    decreases,
    estimate_preventable_share,
    paired_t_p,
)


def late(*excess: float, episodes: int = 100) -> LateTime:
    return LateTime(np.array(excess), np.full(len(excess), episodes))


def test_a_share_is_of_means_and_its_interval_is_fiellers() -> None:
    on, off = late(10.0, 12.0, 14.0, 11.0), late(5.0, 5.5, 7.5, 4.0)
    found = estimate_preventable_share(on, off)
    assert found.share == pytest.approx(1 - 22 / 47)
    # By definition the ends are the ratios r at which the mean of off - r on is just 5 % unlikely.
    for end in (found.low, found.high):
        assert end is not None
        differences = off.excess - (1 - end) * on.excess
        t = differences.mean() / (differences.std(ddof=1) / 2)
        assert abs(t) == pytest.approx(3.18245, rel=1e-4)


def test_what_varies_too_much_bounds_no_share() -> None:
    found = estimate_preventable_share(late(0.0, 0.0, 0.0, 30.0), late(1.0, 0.0, 2.0, 1.0))
    assert found.low is None
    assert found.high is None


def test_no_late_one_left_does_not_prove_that_none_will_come() -> None:
    found = estimate_preventable_share(
        late(10.0, 11.0, 12.0, 11.0, episodes=5), late(0, 0, 0, 0, episodes=0)
    )
    assert found.share == 1
    assert found.high == 1
    # Garwood's upper limit of no event, two-sided at 95 %, is 3.689; there were 20 with it on.
    assert found.low == pytest.approx(1 - 3.689 / 20, abs=1e-3)


def test_many_late_ones_left_are_judged_by_their_spread() -> None:
    on, off = late(10.0, 10.1, 9.9, 10.0), late(5.0, 5.05, 4.95, 5.0)
    many = estimate_preventable_share(on, off)
    few = estimate_preventable_share(on, LateTime(off.excess, np.array([1, 0, 1, 1])))
    # 3 of 400 episodes are few, whatever their length.
    assert few == many
    fewer = estimate_preventable_share(
        LateTime(on.excess, np.full(4, 2)), LateTime(off.excess, np.array([1, 0, 1, 1]))
    )
    assert fewer.low is not None
    assert fewer.low < 0


def test_nothing_late_has_no_share() -> None:
    with pytest.raises(ValueError, match="nothing was late"):
        estimate_preventable_share(late(0.0, 0.0), late(0.0, 0.0))
    with pytest.raises(ValueError, match="two rounds"):
        estimate_preventable_share(late(1.0), late(0.5))


def test_the_tests_of_a_change_are_students() -> None:
    on, off = np.array([5.0, 6.0, 7.0, 6.5]), np.array([4.0, 5.5, 5.0, 6.0])
    # t = 2.8284 at 3 degrees of freedom.
    assert paired_t_p(on, off) == pytest.approx(0.0663, abs=5e-4)
    assert decreases(on, off)
    assert not decreases(off, on)
    assert not decreases(on, on)
    assert paired_t_p(on, on) == 1
    assert paired_t_p(on, on - 1) == 0
    assert decreases(on, on - 1)
