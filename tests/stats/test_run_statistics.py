"""What a run is compared by."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats.mstats import hdquantiles
from stats_examples import cpu_series

from whylate.stats.comparison.run_statistics import (
    MAX,
    P50,
    P99_9,
    P99_99,
    STATISTICS,
    TOP_10,
    harrell_davis,
    statistic_of,
)
from whylate.stats.run.ordered import Ordered, sort_series
from whylate.stats.run.values import count_values


def ordered(values: np.ndarray, overruns: int = 0) -> Ordered:
    """Return latencies, the largest `overruns` of them known only by a lower bound."""
    rising = np.sort(values).astype(np.int64)
    return Ordered(count_values(rising), count_values(rising[: len(rising) - overruns]))


@pytest.mark.parametrize("q", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("n", [20, 1001, 20_000])
def test_quantiles_are_those_of_harrell_and_davis(q: float, n: int) -> None:
    values = np.sort(np.random.default_rng(n).lognormal(9, 0.5, n))
    known = float(hdquantiles(values, [q])[0]) if n <= 1001 else None
    found = harrell_davis(values, q)
    if known is not None:
        assert found == pytest.approx(known, rel=1e-4)
    assert found == pytest.approx(np.quantile(values, q), rel=0.2)


def test_a_run_with_too_few_activations_has_no_far_quantile() -> None:
    short = ordered(np.arange(1, 10_000))
    assert statistic_of(short, P99_9) is None
    assert statistic_of(short, P99_99) is None
    assert statistic_of(short, P50) is not None
    assert [statistic.least_n for statistic in STATISTICS] == [20, 1000, 10_000, 100_000, 20, 20]


def test_values_are_logarithms_of_nanoseconds() -> None:
    run = ordered(np.arange(1, 101) * 1000)
    largest, top = statistic_of(run, MAX), statistic_of(run, TOP_10)
    assert largest is not None
    assert top is not None
    assert largest.compared == pytest.approx(math.log(100_000))
    assert top.compared == pytest.approx(np.log(np.arange(91, 101) * 1000).mean())


def test_what_overruns_may_raise_is_at_least_so_much() -> None:
    run = ordered(np.arange(1, 1001), overruns=5)
    values = {statistic.name: statistic_of(run, statistic) for statistic in STATISTICS}
    largest, median = values["max"], values["p50"]
    assert largest is not None
    assert largest.at_least
    assert largest.most == math.inf
    assert median is not None
    assert not median.at_least


def test_a_quantile_among_bounds_is_known_as_far_as_they_tell() -> None:
    # One of the bounds may lie above the median, which then is the next latency.
    few = cpu_series(np.arange(1, 1001) * 1000, overrun=[0])
    median = statistic_of(sort_series(few), P50)
    assert median is not None
    assert median.most - median.compared == pytest.approx(math.log(501 / 500))
    # Of a histogram the lower edges, and the upper ones.
    edges = np.arange(1, 101) * 1000
    largest = statistic_of(sort_series(cpu_series(edges), cpu_series(edges + 1000)), MAX)
    assert largest is not None
    assert largest.most == pytest.approx(math.log(101_000))


def test_what_is_not_above_zero_has_no_logarithm() -> None:
    assert statistic_of(ordered(np.arange(-500, 100)), P50) is None
    assert statistic_of(ordered(np.zeros(100)), MAX) is None
