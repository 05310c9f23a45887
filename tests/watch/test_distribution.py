"""Percentiles of latencies in classes, beside those of the latencies themselves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from whylate.watch.distribution import Bools, Distribution, Int64s


def none(latency_ns: Int64s) -> Bools:
    """No overruns among so many latencies."""
    return np.zeros(latency_ns.shape, bool)


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(99, 100), Fraction(999, 1000)])
def test_percentiles_are_within_one_percent(share: Fraction) -> None:
    latency_ns = np.random.default_rng(1).lognormal(10, 1.5, 200_000).astype(np.int64) + 300
    distribution = Distribution()
    for part in np.array_split(latency_ns, 7):
        distribution.add(part, none(part))
    exact = float(np.quantile(latency_ns, float(share), method="inverted_cdf"))
    assert distribution.percentile(share) == pytest.approx(exact, rel=0.01)
    assert distribution.max_ns == latency_ns.max()
    assert distribution.size == latency_ns.size


def test_a_percentile_needs_ten_activations_above_it() -> None:
    distribution = Distribution()
    latency_ns = np.full(999, 1000, np.int64)
    distribution.add(latency_ns, none(latency_ns))
    assert distribution.percentile(Fraction(99, 100)) is None
    latency_ns = np.full(1, 1000, np.int64)
    distribution.add(latency_ns, none(latency_ns))
    assert distribution.percentile(Fraction(99, 100)) == 1000


def test_merged_distributions_are_those_of_all() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.integers(1, 10**6, 5000), rng.integers(1, 10**9, 5000)
    both, one, other = Distribution(), Distribution(), Distribution()
    both.add(first, none(first))
    both.add(second, none(second))
    one.add(first, none(first))
    other.add(second, none(second))
    one.merge(other)
    assert one.max_ns == both.max_ns
    assert one.percentile(Fraction(9, 10)) == both.percentile(Fraction(9, 10))


def test_any_number_has_a_class() -> None:
    distribution = Distribution()
    latency_ns = np.array([-5, 0, 1, 2**62], np.int64)
    distribution.add(latency_ns, none(latency_ns))
    assert distribution.size == 4
    assert distribution.max_ns == 2**62
    assert distribution.percentile(Fraction(1, 2)) is None


def test_a_figure_that_counts_an_overrun_is_a_lower_bound() -> None:
    latency_ns = np.array([1000] * 9000 + [50_000] * 990 + [90_000] * 10, np.int64)
    overrun = np.zeros(latency_ns.size, bool)
    overrun[-1000] = True
    one, other = Distribution(), Distribution()
    one.add(latency_ns, overrun)
    other.add(latency_ns, none(latency_ns))
    for distribution, at_least in ((one, [False, True, True]), (other, [False] * 3)):
        p50, p99 = (distribution.percentile(Fraction(share)) for share in ("0.5", "0.99"))
        figures = [p50, p99, distribution.max_ns]
        assert [distribution.is_at_least(figure) for figure in figures] == at_least
    other.merge(one)
    assert other.is_at_least(other.max_ns)
    assert not Distribution().is_at_least(None)
