"""Readers that share readings: formulas beside the algorithm, and beside the strict one's chain."""

from __future__ import annotations

import heapq
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whylate.stats.shared_readings import relaxed_throughput, strict_throughput

TIMES = st.floats(1e-3, 1e3)
CALLS = 40_000


def simulate(n: int, think: float, service: float, *, strict: bool) -> float:
    """Return the throughput of threads that follow remedies/shared_read.h, step by step."""
    rng = Random(2026)
    thinking = [rng.expovariate(1 / think) for _ in range(n)]
    heapq.heapify(thinking)
    now = ends = 0.0
    served = waiting = calls = 0
    while calls < CALLS:
        if served and (not thinking or thinking[0] >= ends):
            now, calls = ends, calls + served
            for _ in range(served):
                heapq.heappush(thinking, now + rng.expovariate(1 / think))
            served, waiting = waiting, 0
            ends = now + service
            continue
        now = heapq.heappop(thinking)
        if not served:
            served, ends = 1, now + service
        elif strict:
            waiting += 1
        else:
            served += 1
    return calls / now


def strict_by_chain(n: int, think: float, service: float) -> float:
    """Return the throughput by the stationary distribution of how many a reading serves."""
    from scipy.stats import binom

    called = -np.expm1(-service / think)
    steps, idle = np.zeros((n, n)), np.zeros(n)
    for served in range(1, n + 1):
        chances = binom.pmf(np.arange(n - served + 1), n - served, called)
        idle[served - 1] = chances[0]
        steps[served - 1, 0] += chances[0]
        steps[served - 1, : n - served] += chances[1:]
    equations = np.vstack([steps.T - np.eye(n), np.ones(n)])
    shares = np.linalg.lstsq(equations, np.append(np.zeros(n), 1.0), rcond=None)[0]
    return float(shares @ np.arange(1, n + 1) / (service + shares @ idle * think / n))


@pytest.mark.parametrize("n", [1, 2, 3, 8, 16])
@pytest.mark.parametrize("think", [0.3, 1.0, 6.0, 30.0])
def test_the_formulas_are_what_threads_do_that_share_readings(n: int, think: float) -> None:
    for strict, formula in ((False, relaxed_throughput), (True, strict_throughput)):
        found = simulate(n, think, 1.0, strict=strict)
        assert formula(n, think, 1.0) == pytest.approx(found, rel=0.015)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 40])
@pytest.mark.parametrize("think", [0.1, 0.3, 1.0, 3.0, 10.0, 100.0])
def test_the_mean_of_strict_readings_is_near_the_whole_chain(n: int, think: float) -> None:
    expected = strict_by_chain(n, think, 1.0)
    assert strict_throughput(n, think, 1.0) == pytest.approx(expected, rel=0.005)


@given(st.integers(1, 300), TIMES, TIMES)
def test_sharing_is_never_slower_than_two_readings_each_and_strict_never_faster(
    n: int, think: float, service: float
) -> None:
    relaxed, strict = (form(n, think, service) for form in (relaxed_throughput, strict_throughput))
    assert n / (think + service) <= relaxed * (1 + 1e-9)
    assert relaxed <= n / (think + service / 2) * (1 + 1e-9)
    assert n / (think + 2 * service) <= strict * (1 + 1e-9)
    assert strict <= relaxed * (1 + 0.005)


@pytest.mark.parametrize("form", [relaxed_throughput, strict_throughput])
def test_threads_without_time_between_calls_are_refused(form: object) -> None:
    for n, think, service in ((0, 1.0, 1.0), (1, 0.0, 1.0), (1, 1.0, -1.0)):
        with pytest.raises(ValueError, match="time between two calls"):
            form(n, think, service)  # type: ignore[operator]
