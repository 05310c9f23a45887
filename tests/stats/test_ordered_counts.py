"""Latencies as values with counts are what they are one by one, whatever their number."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whylate.stats.comparison.run_statistics import STATISTICS, statistic_of
from whylate.stats.run.ordered import Ordered, order_counted
from whylate.stats.run.values import count_values


def pair(values: list[int], overruns: int) -> tuple[Ordered, Ordered]:
    """Return the same latencies with counts and one by one."""
    value_ns, count = np.unique(np.array(values, np.int64), return_counts=True)
    known = np.sort(np.array(values, np.int64))
    return (
        order_counted(value_ns, count.astype(np.int64), overruns),
        Ordered(
            count_values(np.concatenate([known, np.repeat(known[-1:], overruns)])),
            count_values(known),
        ),
    )


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(-3, 60), min_size=1, max_size=400), st.integers(0, 40))
def test_every_order_statistic_is_the_same(values: list[int], overruns: int) -> None:
    counted, ordered = pair(values, overruns)
    assert (counted.n, counted.overruns) == (ordered.n, ordered.overruns)
    for index in range(counted.n):
        assert counted.at_least(index) == ordered.at_least(index)
        assert counted.at_most(index) == ordered.at_most(index)
    for limit in (-5, 0, 17, 60, 61):
        assert counted.bound.count_below(limit) == ordered.bound.count_below(limit)


@pytest.mark.parametrize("overruns", [0, 3, 500])
def test_every_statistic_is_the_same(overruns: int) -> None:
    rng = np.random.default_rng(1)
    values = (20 + rng.gamma(2, 9, 120_000)).astype(int).tolist()
    counted, ordered = pair(values, overruns)
    for statistic in STATISTICS:
        ours, theirs = statistic_of(counted, statistic), statistic_of(ordered, statistic)
        assert ours is not None
        assert theirs is not None
        assert ours.compared == pytest.approx(theirs.compared, rel=1e-9)
        assert ours.most == pytest.approx(theirs.most, rel=1e-9)


def test_ten_thousand_million_take_no_time() -> None:
    counted = order_counted(np.arange(1, 1001), np.full(1000, 10**7), 5)
    began = time.process_time()
    values = [statistic_of(counted, statistic) for statistic in STATISTICS]
    assert time.process_time() - began < 0.5
    assert values[0] is not None
    assert math.exp(values[0].compared) == pytest.approx(500.5, abs=0.01)
