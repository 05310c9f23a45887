from typing import Any

import numpy as np
import pytest
from stats_examples import autoregressive, blocks, clustered, cpu_series, independent

from whylate.stats.run.dependence import block_count, estimate_dependence


def _effect_above(values: Any, quantile: Any) -> Any:
    one = cpu_series(values)
    cut = blocks(one)
    above = one.latency_ns > np.quantile(one.latency_ns, quantile)
    return estimate_dependence(cut.count([np.flatnonzero(above)]), cut.totals).design_effect


def test_independent_rows_have_a_design_effect_near_one() -> None:
    assert 1.0 <= _effect_above(independent(100_000), 0.9) < 1.5


def test_bursts_of_eight_have_a_design_effect_near_eight() -> None:
    assert _effect_above(clustered(100_000, 200, 8), 0.984) == pytest.approx(8, rel=0.35)


def test_an_autoregressive_median_has_the_known_design_effect() -> None:
    # 1 + 2 sum (2 / pi) asin(rho^k) for the sign of a Gaussian process.
    known = 1 + 2 * sum(2 / np.pi * np.arcsin(0.9**k) for k in range(1, 400))
    found = np.mean([_effect_above(autoregressive(100_000, 0.9, seed), 0.5) for seed in range(8)])
    assert found == pytest.approx(known, rel=0.25)


def test_regular_spacing_never_counts_as_more_than_independence() -> None:
    values = np.tile([1, 1, 1, 9], 25_000)
    assert _effect_above(values, 0.5) == 1.0


def test_a_stall_that_hits_two_cpus_counts_as_dependence() -> None:
    late = np.zeros(50_000, dtype=bool)
    late[np.random.default_rng(5).choice(50_000, 500, replace=False)] = True
    first = cpu_series(np.where(late, 90_000, 5_000))
    same, other = cpu_series(first.latency_ns), cpu_series(np.roll(first.latency_ns, 25_000))
    effects = []
    for second in (same, other):
        cut = blocks(first, second)
        events = [np.flatnonzero(cpu.latency_ns > 50_000) for cpu in (first, second)]
        effects.append(estimate_dependence(cut.count(events), cut.totals).design_effect)
    assert effects[0] > 1.6
    assert effects[1] < 1.5


@pytest.mark.parametrize("events", [[0, 0, 0], [4, 4, 4]])
def test_a_constant_tells_nothing_and_counts_as_independent(events: Any) -> None:
    assert estimate_dependence(np.array(events), np.array([4, 4, 4])).deflate(0.95) == 1.0


def test_few_blocks_widen_the_interval() -> None:
    events, totals = np.array([3, 5, 4, 6]), np.full(4, 100)
    assert estimate_dependence(events, totals).deflate(0.95) < 0.6


def test_block_counts_grow_with_the_root_of_the_rows() -> None:
    counts = [block_count(n) for n in (1, 15, 100, 10_000, 10**7)]
    assert counts == [1, 7, 8, 64, 1024]


def test_events_that_are_the_same_part_of_every_block_are_independent() -> None:
    found = estimate_dependence(np.full(256, 8), np.full(256, 16))
    assert found.design_effect == 1
