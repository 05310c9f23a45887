"""The network with a coherence term, and the published rows that it does not explain with one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_closed_network import TIMES, published

from whylate.stats.closed_network import throughput
from whylate.stats.scaling.coherence import (
    SharedRow,
    coherent_shared_throughput,
    coherent_throughput,
    fit_coherent,
    leave_one_out,
)
from whylate.stats.shared_readings import relaxed_throughput

ROWS = [SharedRow(cpus, direct / tsc, shared / tsc) for cpus, tsc, direct, shared in published()]


@given(st.integers(1, 60), TIMES, TIMES)
def test_without_a_coherence_term_it_is_the_closed_network(
    n: int, think: float, service: float
) -> None:
    assert coherent_throughput(n, think, service, 0.0) == throughput(n, think, service)
    expected = relaxed_throughput(n, think, service)
    assert coherent_shared_throughput(n, think, service, 0.0) == pytest.approx(expected)


def test_a_single_cpu_moves_no_line_to_another() -> None:
    assert coherent_throughput(1, 3.0, 1.0, 0.5) == throughput(1, 3.0, 1.0)
    assert coherent_shared_throughput(1, 3.0, 1.0, 0.5) == relaxed_throughput(1, 3.0, 1.0)


@given(st.integers(2, 60), TIMES, TIMES, st.floats(1e-3, 1.0))
def test_a_coherence_term_takes_throughput(
    n: int, think: float, service: float, coherence: float
) -> None:
    assert coherent_throughput(n, think, service, coherence) <= throughput(n, think, service)
    assert coherent_shared_throughput(n, think, service, coherence) < relaxed_throughput(
        n, think, service
    )


@pytest.mark.parametrize(("think", "coherence"), [(10.0, 0.01), (3.0, 0.05), (40.0, 0.0)])
def test_it_is_found_again_and_predicts_more_cpus(think: float, coherence: float) -> None:
    counts = [1, 2, 4, 8, 16, 24]
    network = fit_coherent(counts, [coherent_throughput(n, think, 1.0, coherence) for n in counts])
    assert network.service == pytest.approx(1.0, rel=0.05)
    assert network.coherence == pytest.approx(coherence, abs=0.01)
    for n in (48, 72):
        expected = coherent_throughput(n, think, 1.0, coherence)
        assert network.throughput(n) == pytest.approx(expected, rel=0.02)
        shared = coherent_shared_throughput(n, think, 1.0, coherence)
        assert network.shared_throughput(n) == pytest.approx(shared, rel=0.02)


def test_a_coherence_term_that_noise_would_give_is_left_out() -> None:
    counts = [1, 2, 3, 4, 6, 8]
    noise = [1.02, 0.98, 1.01, 0.99, 1.01, 0.97]
    network = fit_coherent(
        counts, [throughput(n, 10.0, 1.0) * off for n, off in zip(counts, noise, strict=True)]
    )
    assert network.coherence == 0.0
    assert network.throughput(24) == pytest.approx(throughput(24, 10.0, 1.0), rel=0.3)
    low, high = network.interval(24)
    assert low < network.throughput(24) < high


def test_three_numbers_have_an_interval_and_no_coherence_term() -> None:
    values = [throughput(n, 5.0, 1.0) * factor for n, factor in ((1, 1.0), (2, 0.99), (4, 1.01))]
    network = fit_coherent([1, 2, 4], values)
    assert network.coherence is None
    low, high = network.interval(8)
    assert low < network.throughput(8) < high
    with pytest.raises(ValueError, match="3 numbers of threads are needed; measured were 2"):
        fit_coherent([1, 2], values[:2])


def test_intervals_hold_what_is_measured_with_more_cpus() -> None:
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(10):

        def measured(n: int) -> float:
            return coherent_throughput(n, 6.0, 1.0, 0.01) * math.exp(0.02 * rng.standard_normal())

        network = fit_coherent([1, 2, 3, 4, 6, 8], [measured(n) for n in (1, 2, 3, 4, 6, 8)])
        low, high = network.interval(16)
        held += low <= measured(16) <= high
    assert held >= 8


def test_the_row_of_72_cpus_follows_within_five_thousandths() -> None:
    row = next(row for row in ROWS if row.cpus == 72)
    assert row.predicted(0.0) == pytest.approx(row.shared, abs=0.005)


def test_the_two_rows_have_no_coherence_term_in_common() -> None:
    terms = {row.cpus: row.coherence() for row in ROWS}
    assert terms[72] == pytest.approx(0.0008, abs=5e-5)
    assert terms[240] == pytest.approx(0.0120, abs=1e-4)
    # With the term of the other, the row of 72 CPUs is off by more than .005, and that of 240 by
    # more than .02.
    off = dict(zip((row.cpus for row in ROWS), leave_one_out(ROWS), strict=True))
    assert off[72] == pytest.approx(-0.0116, abs=2e-4)
    assert off[240] == pytest.approx(0.0301, abs=2e-4)


def test_with_its_own_term_a_row_follows_exactly() -> None:
    for row in ROWS:
        assert row.predicted(row.coherence()) == pytest.approx(row.shared, abs=1e-12)
    with pytest.raises(ValueError, match="two rows"):
        leave_one_out(ROWS[:1])
