"""Percentiles of latencies in classes, beside those of the latencies themselves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from whylate.watch.distribution import Distribution


@pytest.mark.parametrize("share", [Fraction(1, 2), Fraction(99, 100), Fraction(999, 1000)])
def test_percentiles_are_within_one_percent(share: Fraction) -> None:
    latency_ns = np.random.default_rng(1).lognormal(10, 1.5, 200_000).astype(np.int64) + 300
    distribution = Distribution()
    for part in np.array_split(latency_ns, 7):
        distribution.add(part)
    exact = float(np.quantile(latency_ns, float(share), method="inverted_cdf"))
    assert distribution.percentile(share) == pytest.approx(exact, rel=0.01)
    assert distribution.max_ns == latency_ns.max()
    assert distribution.size == latency_ns.size


def test_a_percentile_needs_ten_activations_above_it() -> None:
    distribution = Distribution()
    distribution.add(np.full(999, 1000, np.int64))
    assert distribution.percentile(Fraction(99, 100)) is None
    distribution.add(np.full(1, 1000, np.int64))
    assert distribution.percentile(Fraction(99, 100)) == 1000


def test_merged_distributions_are_those_of_all() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.integers(1, 10**6, 5000), rng.integers(1, 10**9, 5000)
    both, one, other = Distribution(), Distribution(), Distribution()
    both.add(first)
    both.add(second)
    one.add(first)
    other.add(second)
    one.merge(other)
    assert one.max_ns == both.max_ns
    assert one.percentile(Fraction(9, 10)) == both.percentile(Fraction(9, 10))


def test_any_number_has_a_class() -> None:
    distribution = Distribution()
    distribution.add(np.array([-5, 0, 1, 2**62], np.int64))
    assert distribution.size == 4
    assert distribution.max_ns == 2**62
    assert distribution.percentile(Fraction(1, 2)) is None
