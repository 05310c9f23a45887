"""A few latencies of another mechanism are noticed, and a heavy tail is not taken for one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from whylate.stats.limits import fishers_p
from whylate.stats.tail.pareto import LARGEST, second_mode_p


def drawn(seed: int, n: int = 500) -> NDArray[np.float64]:
    return np.asarray(60 * (np.random.default_rng(seed).random(n) ** -0.2 - 1))


@pytest.mark.parametrize("largest", LARGEST)
def test_a_heavy_tail_alone_seldom_alarms(largest: int) -> None:
    alarms = [second_mode_p(drawn(seed, 1000), largest) < 0.01 for seed in range(200)]
    assert sum(alarms) <= 12


@pytest.mark.parametrize(("largest", "events"), [(10, 6), (20, 14)])
def test_a_mode_far_out_alarms(largest: int, events: int) -> None:
    excess = drawn(1)
    excess[:events] = 900 + np.arange(events)
    assert second_mode_p(excess, largest) < 1e-3


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_mode_is_noticed_because_it_has_no_part_in_the_fit(seed: int) -> None:
    # Fitted with the others, these six make the tail heavier, and p is 25 times as much and more.
    excess = drawn(seed)
    excess[:6] = 350 + np.arange(6)
    assert second_mode_p(excess, 10) < 5e-4


def test_ten_of_a_mode_hide_among_ten_and_not_among_twenty() -> None:
    excess = drawn(1)
    excess[:14] = 900 + np.arange(14)
    assert second_mode_p(excess, 10) > 0.01


def test_fishers_combination_is_that_of_his_book() -> None:
    # 1932, section 21.1: .145, .263 and .087 give 11.4 with six degrees of freedom, p = .077.
    assert fishers_p([0.145, 0.263, 0.087]) == pytest.approx(0.0765, abs=2e-3)
    assert fishers_p([]) == 1.0
    assert fishers_p([0.0, 0.5]) == 0.0
