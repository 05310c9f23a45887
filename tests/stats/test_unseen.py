"""How many unseen rows can have what a random sample shows, and what they can be at the least."""

from __future__ import annotations

import numpy as np
import pytest

from whylate.stats.run.unseen import lower_largest, most_affected


def test_without_a_sample_all_may_be_affected_and_with_more_of_it_fewer() -> None:
    assert most_affected(0, 0, 1_000) == 1_000
    few, many = most_affected(0, 10, 1_000), most_affected(0, 1_000, 1_000)
    assert 250 < few < 350
    assert many == 4
    assert most_affected(5, 10, 1_000) > few
    assert most_affected(10, 10, 1_000) == 1_000


def test_the_limit_holds_in_nineteen_of_twenty_samples() -> None:
    rng = np.random.default_rng(3)
    true = 0.05
    limits = [most_affected(int(rng.binomial(60, true)), 60, 10_000) for _ in range(400)]
    assert np.mean(np.array(limits) >= 10_000 * true) > 0.95


def test_the_largest_unseen_rows_are_lowered_and_no_other() -> None:
    latency = np.array([9, 50, 7, 80, 60, 40])
    unseen = np.array([True, True, True, False, True, True])
    assert lower_largest(latency, unseen, 2, 10).tolist() == [9, 10, 7, 80, 10, 40]
    assert lower_largest(latency, unseen, 9, 10).tolist() == [9, 10, 7, 80, 10, 10]
    assert lower_largest(latency, unseen, 0, 10).tolist() == latency.tolist()
    assert latency.tolist() == [9, 50, 7, 80, 60, 40]


@pytest.mark.parametrize("most", [1, 5, 50])
def test_as_many_rows_change_as_may(most: int) -> None:
    latency = np.random.default_rng(1).permutation(np.arange(100, 1_100))
    lowered = lower_largest(latency, np.ones(1_000, bool), most, 0)
    assert np.count_nonzero(lowered != latency) == most
    assert lowered.max() == 1_099 - most
