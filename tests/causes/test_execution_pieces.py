"""Executions of a section cut into pieces: each cause on positive evidence, and no other."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from windows import DUE, PID, event, switch, window

from whylate.causes.window.executions import cut_execution
from whylate.causes.window.piece import Cause
from whylate.recording.activation import FAIR
from whylate.recording.events import Event, Kind, Window

#: Its thread, before the execution begins.
BEGUN = switch(-400, PID, "player", 120, prev=20)
WAKER = 55


def cut(*events: Event, run: int = 10_000, observed: int = -500) -> list[tuple[Cause, str, int]]:
    """The causes, details and lengths of an execution of so many ns on CPU 0."""
    return pieces_of(window(*events, run=run, observed=observed))


def pieces_of(recorded: Window) -> list[tuple[Cause, str, int]]:
    pieces = cut_execution(replace(recorded, events=in_order(recorded.events)))
    return [(piece.cause, piece.detail, piece.length_ns) for piece in pieces]


def in_order(events: tuple[Event, ...]) -> tuple[Event, ...]:
    return tuple(sorted(events, key=lambda each: each.time_ns))


def away(at: int, to: int, name: str, state: str, prio: int = 120, cpu: int = 0) -> Event:
    return switch(at, to, name, prio, prev_state=state, cpu=cpu)


def back(at: int, prev: int, cpu: int = 0, prio: int = 120) -> Event:
    return switch(at, PID, "player", prio, prev=prev, prev_state="S", cpu=cpu)


def waking(at: int, cpu: int = 0) -> Event:
    return event(at, Kind.WAKING, id=PID, prio=120, target_cpu=0, prev_state="S", cpu=cpu)


def test_what_is_interrupted_by_nothing_is_its_own_code() -> None:
    assert cut(BEGUN) == [(Cause.OWN, "", 10_000)]


def test_an_interrupt_and_its_softirq_are_named() -> None:
    assert cut(
        BEGUN,
        event(1000, Kind.VECTOR_ENTRY, name="local_timer"),
        event(1500, Kind.VECTOR_EXIT, name="local_timer"),
        event(1600, Kind.SOFTIRQ_ENTRY, id=1, name="TIMER"),
        event(1900, Kind.SOFTIRQ_EXIT, id=1, name="TIMER"),
    ) == [
        (Cause.OWN, "", 1000),
        (Cause.INTERRUPT, "local_timer", 500),
        (Cause.OWN, "", 100),
        (Cause.SOFTIRQ, "TIMER", 300),
        (Cause.OWN, "", 8100),
    ]


def test_a_section_in_an_interrupt_has_that_interrupt_as_its_own() -> None:
    pieces = cut(
        BEGUN,
        event(-100, Kind.IRQ_ENTRY, id=4, name="eth0"),
        event(9_900, Kind.IRQ_EXIT, id=4, name="eth0"),
        event(9_950, Kind.SOFTIRQ_ENTRY, id=3, name="NET_RX"),
    )
    # A softirq is below it; an NMI is not.
    assert pieces == [(Cause.OWN, "", 10_000)]
    assert cut(
        BEGUN,
        event(-100, Kind.IRQ_ENTRY, id=4, name="eth0"),
        event(5_000, Kind.NMI, name="perf", duration_ns=1_000),
    ) == [(Cause.OWN, "", 4_000), (Cause.NMI, "perf", 1_000), (Cause.OWN, "", 5_000)]


def test_preempted_it_waits_for_the_thread_that_ran() -> None:
    assert cut(BEGUN, away(2_000, 31, "rt_task", "R", 0), back(7_000, 31)) == [
        (Cause.OWN, "", 2_000),
        (Cause.THREAD, "rt_task", 5_000),
        (Cause.OWN, "", 3_000),
    ]


def test_asleep_is_named_by_what_woke_it_on_another_cpu() -> None:
    assert cut(
        BEGUN,
        away(1_000, 0, "swapper/0", "S", 120),
        switch(-300, WAKER, "server", 120, prev=0, cpu=1),
        waking(6_000, cpu=1),
        back(6_500, 0),
    ) == [
        (Cause.OWN, "", 1_000),
        (Cause.ASLEEP, "woken by server", 5_000),
        (Cause.SCHEDULING, "from idle", 500),
        (Cause.OWN, "", 3_500),
    ]


def test_asleep_until_a_timer_is_named_by_the_timer() -> None:
    pieces = cut(
        BEGUN,
        away(1_000, 0, "swapper/0", "S", 120),
        event(5_000, Kind.VECTOR_ENTRY, name="local_timer"),
        event(5_100, Kind.TIMER_ENTRY, id=1, name="hrtimer_wakeup"),
        waking(5_200),
        event(5_300, Kind.TIMER_EXIT, id=1),
        event(5_400, Kind.VECTOR_EXIT, name="local_timer"),
        back(6_000, 0),
    )
    assert pieces[1] == (Cause.ASLEEP, "woken by local_timer: hrtimer_wakeup", 4_200)
    # From then on it waits for that interrupt.
    assert pieces[2][:2] == (Cause.INTERRUPT, "local_timer: hrtimer_wakeup")


def test_woken_on_its_way_to_sleep_it_never_slept() -> None:
    assert cut(
        BEGUN,
        switch(-300, WAKER, "server", 120, prev=0, cpu=1),
        waking(900, cpu=1),
        away(1_000, 31, "make", "S"),
        back(6_000, 31),
    ) == [(Cause.OWN, "", 1_000), (Cause.THREAD, "make", 5_000), (Cause.OWN, "", 4_000)]


def test_a_sleep_whose_end_was_not_recorded_is_not_observed() -> None:
    assert cut(BEGUN, away(1_000, 31, "make", "S"), back(6_000, 31)) == [
        (Cause.OWN, "", 1_000),
        (Cause.NOT_OBSERVED, "", 5_000),
        (Cause.OWN, "", 4_000),
    ]


def test_a_lock_that_it_sleeps_for_is_named_and_not_its_waker() -> None:
    pieces = cut(
        BEGUN,
        event(800, Kind.LOCK_BEGIN, id=9, name="mmap_lock", prev_state="S"),
        away(1_000, 0, "swapper/0", "D", 120),
        switch(-300, WAKER, "server", 120, prev=0, cpu=1),
        waking(6_000, cpu=1),
        back(6_500, 0),
        event(6_600, Kind.LOCK_END, id=9),
    )
    assert pieces == [
        (Cause.OWN, "", 800),
        (Cause.LOCK, "mmap_lock", 200),
        (Cause.LOCK, "mmap_lock", 5_000),
        (Cause.SCHEDULING, "from idle", 500),
        (Cause.LOCK, "mmap_lock", 100),
        (Cause.OWN, "", 3_400),
    ]


def test_on_another_cpu_it_has_what_happens_there() -> None:
    recorded = window(
        switch(-600, PID, "player", 120, prev=20, cpu=1),
        away(2_000, 31, "make", "R", cpu=1),
        event(3_000, Kind.MIGRATE, id=PID, target_cpu=0, cpu=1),
        switch(-500, 77, "hog", 120, prev=0),
        event(3_500, Kind.VECTOR_ENTRY, name="reschedule"),
        event(3_600, Kind.VECTOR_EXIT, name="reschedule"),
        back(4_000, 77),
        event(500, Kind.VECTOR_ENTRY, name="local_timer", cpu=1),
        event(600, Kind.VECTOR_EXIT, name="local_timer", cpu=1),
        run=10_000,
    )
    assert pieces_of(recorded) == [
        (Cause.OWN, "", 500),
        (Cause.INTERRUPT, "local_timer", 100),
        (Cause.OWN, "", 1_400),
        (Cause.THREAD, "make", 1_000),
        (Cause.THREAD, "hog", 500),
        (Cause.INTERRUPT, "reschedule", 100),
        (Cause.THREAD, "hog", 400),
        (Cause.OWN, "", 6_000),
    ]


def test_what_a_ring_had_lost_is_not_observed() -> None:
    assert cut(back(6_000, 31), observed=6_000) == [
        (Cause.NOT_OBSERVED, "", 6_000),
        (Cause.OWN, "", 4_000),
    ]
    # It ended on CPU 0, and nobody saw it come back.
    assert cut(BEGUN, away(1_000, 31, "make", "R")) == [
        (Cause.OWN, "", 1_000),
        (Cause.NOT_OBSERVED, "", 9_000),
    ]


def test_a_sleep_is_known_until_its_waking_though_no_switch_back_was_recorded() -> None:
    # Some kernels do not trace switches from their idle threads.
    expired = (
        event(5_000, Kind.VECTOR_ENTRY, name="local_timer"),
        waking(5_200),
        event(5_400, Kind.VECTOR_EXIT, name="local_timer"),
    )
    asleep = (Cause.ASLEEP, "woken by local_timer", 4_200)
    assert cut(BEGUN, away(1_000, 0, "swapper/0", "S"), *expired) == [
        (Cause.OWN, "", 1_000),
        asleep,
        (Cause.NOT_OBSERVED, "", 4_800),
    ]
    # Neither was the switch with which it ran again before it left a second time.
    assert cut(
        BEGUN,
        away(1_000, 0, "swapper/0", "S"),
        *expired,
        away(6_000, 31, "make", "R"),
        back(7_000, 31),
    ) == [
        (Cause.OWN, "", 1_000),
        asleep,
        (Cause.NOT_OBSERVED, "", 800),
        (Cause.THREAD, "make", 1_000),
        (Cause.OWN, "", 3_000),
    ]


def test_a_real_time_thread_behind_a_lower_one_is_unexplained_without_a_quota() -> None:
    begun = switch(-400, PID, "player", 10, prev=20)
    events = begun, away(1_000, 31, "make", "R", 120), back(50_000, 31, prio=10)
    assert cut(*events, run=60_000)[1] == (Cause.UNEXPLAINED, "in make", 49_000)
    quota = event(30_000, Kind.TIMER_ENTRY, id=2, name="sched_rt_period_timer")
    named = cut(begun, events[1], quota, events[2], run=60_000)
    assert named[1] == (Cause.THROTTLING, "make ran instead", 49_000)


def test_stopped_by_a_signal_is_no_sleep() -> None:
    pieces = cut(BEGUN, away(1_000, 0, "swapper/0", "T"), waking(6_000), back(6_500, 0))
    assert (Cause.STOPPED, "", 5_000) in pieces


def test_what_the_hypervisor_took_while_it_slept_is_none_of_it() -> None:
    asleep = (
        BEGUN,
        event(500, Kind.STEAL, duration_ns=0),
        away(1_000, 0, "swapper/0", "S"),
        switch(-300, WAKER, "server", 120, prev=0, cpu=1),
        waking(8_000, cpu=1),
        event(8_100, Kind.STEAL, duration_ns=6_000),
        back(8_200, 0),
    )
    assert all(cause is not Cause.STEAL for cause, _, _ in cut(*asleep))
    awake = BEGUN, event(0, Kind.STEAL), event(10_000, Kind.STEAL, duration_ns=4_000)
    assert (Cause.STEAL, "", 4_000) in cut(*awake)


def test_a_switch_with_functions_of_others_names_no_thread() -> None:
    recorded = window(BEGUN, away(2_000, 31, "make", "R"), back(7_000, 31), run=10_000)
    causes = {piece.cause for piece in cut_execution(recorded, ["slow [tracer]"])}
    assert causes == {Cause.OWN, Cause.UNEXPLAINED}


_KINDS = st.sampled_from([
    Kind.SWITCH, Kind.WAKING, Kind.MIGRATE, Kind.VECTOR_ENTRY, Kind.VECTOR_EXIT, Kind.SOFTIRQ_ENTRY,
    Kind.SOFTIRQ_EXIT, Kind.LOCK_BEGIN, Kind.LOCK_END, Kind.STEAL, Kind.NMI, Kind.TIMER_ENTRY,
])  # fmt: skip
_PIDS = st.sampled_from([0, PID, 31, 32])
_EVENTS = st.builds(
    Event,
    time_ns=st.integers(DUE - 1_000, DUE + 12_000),
    cpu=st.integers(0, 2),
    kind=_KINDS,
    id=_PIDS,
    name=st.sampled_from(["", "make", "sched_rt_period_timer"]),
    prio=st.integers(-1, FAIR + 39),
    prev_id=_PIDS,
    prev_state=st.sampled_from(["", "R", "S", "D", "T"]),
    target_cpu=st.integers(0, 3),
    duration_ns=st.integers(0, 20_000),
)


@given(st.lists(_EVENTS, max_size=30), st.integers(1, 10_000), st.integers(-500, 12_000))
def test_whatever_a_board_sends_the_pieces_fill_the_execution(
    events: list[Event], run: int, observed: int
) -> None:
    recorded = window(*in_order(tuple(events)), run=run, observed=observed)
    pieces = cut_execution(recorded)
    assert pieces[0].start_ns == recorded.due_ns
    assert pieces[-1].end_ns == recorded.run_ns
    for piece, following in pairwise(pieces):
        assert piece.start_ns < piece.end_ns == following.start_ns


@pytest.mark.parametrize("run", [0, -5])
def test_an_execution_of_no_time_has_no_pieces(run: int) -> None:
    assert cut_execution(window(BEGUN, run=run)) == []
