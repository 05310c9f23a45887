"""What is true of a run comes from the causes' log and the samples alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from truth_known import Acts, acted_in, known

from whylate.lab.faults.catalogue import use
from whylate.lab.faults.log import Event, FaultLog
from whylate.recording.samples import CpuSamples

MS = 1_000_000
stretches = st.lists(st.tuples(st.integers(0, 900), st.integers(1, 60)), max_size=20)


def samples(*latency_us: int) -> CpuSamples:
    """Activations of CPU 0, one each millisecond from 0 on."""
    latency = np.array(latency_us, np.int64) * 1000
    overrun = np.zeros(len(latency), np.bool_)
    return CpuSamples(0, 0, MS, np.arange(len(latency)), latency, overrun)


@given(stretches, st.integers(0, 999), st.integers(0, 300))
def test_time_in_a_window_is_that_of_every_nanosecond_in_an_act(
    acts: list[tuple[int, int]], start: int, length: int
) -> None:
    inside = {ns for at, long in acts for ns in range(at, at + long)}
    found = Acts.of([Event(at, long, 0) for at, long in acts], cpu=0)
    within = found.within(np.array([start]), np.array([start + length]))
    assert within.tolist() == [len(inside & set(range(start, start + length)))]


def test_acts_on_other_cpus_are_others() -> None:
    assert Acts.of([Event(0, 10, 1)], cpu=0).within(np.array([0]), np.array([100])).tolist() == [0]


def test_acts_of_one_burst_have_what_lies_between_them() -> None:
    events = [Event(0, 10, 0), Event(15, 10, 0), Event(40, 10, 0)]
    found = Acts.of(events, cpu=0, together_ns=5)
    assert found.within(np.array([0]), np.array([100])).tolist() == [35]


def test_the_share_is_of_the_time_beyond_the_ordinary() -> None:
    # Two late by 100 µs, of which the cause had 60 and 40; control activations take 10 µs.
    log = FaultLog(use("irqs-off"), [Event(2 * MS, 60_000, 0), Event(4 * MS + 50_000, 40_000, 0)])
    truth = known(log, samples(10, 10, 110, 10, 110, 10), 50_000)
    assert truth.share == pytest.approx((60 + 40) / 200)
    assert truth.acted_ns == {2: 60_000, 4: 40_000}
    assert truth.mean_ns == pytest.approx(50_000)


def test_what_interrupts_took_out_of_an_act_is_not_the_causes() -> None:
    log = FaultLog(use("preempt-off"), [Event(2 * MS, 60_000, 0)], taken=[Event(2 * MS, 5_000, 0)])
    assert known(log, samples(10, 10, 110), 50_000).acted_ns == {2: 55_000}


def test_what_others_took_while_it_did_not_act_is_taken_from_nothing() -> None:
    """A thread that others displaced reads the clock before and after, and logs both its parts."""
    acts = [Event(2 * MS, 20_000, 0), Event(2 * MS + 50_000, 40_000, 0)]
    log = FaultLog(use("rt-task"), acts, taken=[Event(2 * MS + 15_000, 40_000, 0)])
    assert known(log, samples(10, 10, 110), 50_000).acted_ns == {2: 15_000 + 35_000}


def test_a_cause_that_acts_all_the_time_is_ordinary() -> None:
    log = FaultLog(use("irqs-off"), [Event(0, 100 * MS, 0)])
    assert known(log, samples(10, 10, 110, 10), 50_000).share == pytest.approx(1.0)


def test_a_full_log_tells_nothing_of_what_came_after() -> None:
    acts = [Event(2 * MS, 60_000, 0), Event(3 * MS + 500_000, 1_000, 0)]
    late = samples(10, 10, 110, 10, 110, 10)
    assert known(FaultLog(use("irqs-off"), acts), late, 50_000).acted_ns == {2: 60_000, 4: 0}
    full = FaultLog(use("irqs-off"), acts, dropped=3)
    assert known(full, late, 50_000).acted_ns == {2: 60_000}


def test_late_activations_in_which_a_cause_acted_are_counted() -> None:
    log = FaultLog(use("irqs-off"), [Event(2 * MS, 60_000, 0), Event(3 * MS, 5_000, 0)])
    assert acted_in(log, samples(10, 10, 110, 10, 110), 50_000) == 1
    assert acted_in(log, samples(10, 10, 10), 50_000) == 0


def test_without_a_tail_there_is_no_truth() -> None:
    with pytest.raises(ValueError, match="no activation was late"):
        known(FaultLog(use("irqs-off"), []), samples(10, 10), 50_000)
