"""The closed network: exact where it is known, and found again from its own throughputs."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whylate.stats.closed_network import fit, think_from_ratio, throughput
from whylate.stats.shared_readings import relaxed_throughput

TIMES = st.floats(1e-3, 1e3)


def by_states(n: int, think: float, service: float) -> float:
    """Return the throughput from the balance of states, of exponential times.

    With k at the device, (n - k) / think come and 1 / service go: a birth-death process.
    """
    weights = [1.0]
    for k in range(1, n + 1):
        weights.append(weights[-1] * (n - k + 1) / think * service)
    return (1 - weights[0] / sum(weights)) / service


@given(st.integers(1, 30), TIMES, TIMES)
def test_mean_value_analysis_is_the_balance_of_states(n: int, think: float, service: float) -> None:
    assert throughput(n, think, service) == pytest.approx(by_states(n, think, service), rel=1e-9)


@given(st.integers(1, 200), TIMES, TIMES)
def test_it_is_bounded_by_one_thread_and_by_the_device(
    n: int, think: float, service: float
) -> None:
    found = throughput(n, think, service)
    assert found <= min(n / (think + service), 1 / service) * (1 + 1e-9)
    assert found >= throughput(1, think, service) * (1 - 1e-9)


@settings(max_examples=25)
@given(st.floats(0.01, 0.99), st.lists(st.integers(1, 40), min_size=2, max_size=6, unique=True))
def test_a_network_is_found_again_from_its_throughputs(part: float, threads: list[int]) -> None:
    think, service = 100 * (1 - part), 100 * part
    found = fit(threads, [throughput(n, think, service) for n in threads])
    # What saturates from two threads on says little of the think time, and much of the rest.
    for n in (*threads, 64):
        assert found.throughput(n) == pytest.approx(throughput(n, think, service), rel=1e-2)


def published() -> Iterator[tuple[int, float, float, float]]:
    path = Path(__file__).parents[1] / "compare" / "published" / "hpet_aim7.csv"
    rows = list(csv.DictReader(path.read_text().splitlines()))
    for cpus in dict.fromkeys(row["cpus"] for row in rows):
        of = {row["clocksource"]: float(row["jobs_per_min"]) for row in rows if row["cpus"] == cpus}
        yield int(cpus), of["tsc"], of["hpet direct"], of["hpet shared"]


def test_the_published_rows_give_their_think_times() -> None:
    found = [think_from_ratio(direct / tsc, cpus) for cpus, tsc, direct, _ in published()]
    assert found == [pytest.approx(66.2, abs=0.05), pytest.approx(84.6, abs=0.05)]


def test_the_published_rows_of_readers_that_share_follow_from_the_others() -> None:
    for cpus, tsc, direct, shared in published():
        think = think_from_ratio(direct / tsc, cpus)
        predicted = relaxed_throughput(cpus, think, 1.0) * think / cpus
        # On the larger machine something else takes a part that grows with the CPUs.
        known = {72: (0.9889, 0.002), 240: (0.9926, 0.04)}[cpus]
        assert predicted == pytest.approx(known[0], abs=1e-4)
        assert predicted == pytest.approx(shared / tsc, abs=known[1])


@pytest.mark.parametrize("ratio", [0.0, 1.0, -1.0, 1.5])
def test_no_think_time_gives_such_a_ratio(ratio: float) -> None:
    with pytest.raises(ValueError, match="ratio"):
        think_from_ratio(ratio, 8)


def test_what_cannot_be_fitted_is_refused() -> None:
    for threads, measured in (([2, 2], [1.0, 1.0]), ([1, 2], [1.0, 0.0]), ([1], [1.0])):
        with pytest.raises(ValueError, match="throughputs of two"):
            fit(threads, measured)
    with pytest.raises(ValueError, match="threads that take time"):
        throughput(0, 1.0, 1.0)


def test_throughputs_that_err_by_a_percent_leave_the_service_nearly_as_it_is() -> None:
    rng = np.random.default_rng(3)
    off = []
    for _ in range(20):
        measured = [throughput(n, 3.0, 1.0) * math.exp(0.01 * rng.standard_normal())
                    for n in (1, 2, 3, 4)]  # fmt: skip
        off.append(abs(fit([1, 2, 3, 4], measured).service - 1))
    assert np.median(off) < 0.05
