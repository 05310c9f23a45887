"""Why a thread could not run: stopped, blocked, lowered, over quota, woken late."""

from __future__ import annotations

from dataclasses import replace

import pytest
from windows import PID, PRIO, event, switch, window

from whylate.causes.episodes import corrected, usual_of
from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece, Stage
from whylate.causes.window.pieces import cut_window
from whylate.recording.events import Event, Kind, Window


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The windows here last about a microsecond."""
    monkeypatch.setattr("whylate.causes.window.pieces.STACK_AFTER_NS", 500)


def names(cut: Window) -> list[tuple[str, str, int]]:
    return [(piece.cause.value, piece.detail, piece.length_ns) for piece in cut_window(cut)]


def woken(*between: Event, left: str = "", prev: int = 20, run: int = 1000) -> Window:
    """Woken at 100 by what is no timer; switched to at 900 from the thread 20."""
    return window(
        switch(-400, 20, "make", 120),
        event(100, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0, prev_state=left),
        *between,
        switch(900, PID, "whylate", PRIO, prev=prev),
        run=run, waking=100, switched=900,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("left", "cause"),
    [("T", "stopped by a signal"), ("t", "stopped by a signal"), ("D", "blocked")],
)
def test_a_thread_that_was_not_asleep_when_due_was_stopped_or_blocked_whatever_ran(
    left: str, cause: str
) -> None:
    assert names(woken(left=left))[0] == (cause, "", 100)
    # Another thread ran meanwhile, and an interrupt came: neither held it up.
    bystander = event(40, Kind.IRQ_ENTRY, id=24, name="eth0")
    assert names(woken(bystander, event(60, Kind.IRQ_EXIT, id=24), left=left))[0] == (
        cause,
        "",
        100,
    )
    assert names(woken(left="S"))[0] == ("unexplained", "in make", 100)


def test_a_thread_that_blocks_in_its_own_page_fault_is_in_that() -> None:
    def blocks(*before: Event) -> list[tuple[str, str, int]]:
        made = window(
            switch(-400, 20, "make", 120),
            event(100, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
            switch(200, PID, "whylate", PRIO, prev=20),
            *before,
            replace(switch(300, 20, "make", 120, prev=PID), prev_state="D"),
            event(700, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
            switch(900, PID, "whylate", PRIO, prev=20),
            run=1000, waking=100, switched=200,
        )  # fmt: skip
        return [piece for piece in names(made) if piece[2] == 400]

    assert blocks(event(250, Kind.FAULT, id=PID)) == [("page fault", "blocked in it", 400)]
    assert blocks() == [("blocked", "", 400)]
    assert blocks(event(250, Kind.FAULT, id=20)) == [("blocked", "", 400)]


def test_a_drivers_own_delay_is_no_block_and_what_ends_a_block_is_none() -> None:
    def due_in_it(*inside: Event) -> Window:
        return window(
            switch(-400, 20, "make", 120),
            event(300, Kind.IRQ_ENTRY, id=24, name="mmc0"),
            *inside,
            event(500, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0, prev_state="D"),
            event(600, Kind.IRQ_EXIT, id=24),
            switch(900, PID, "whylate", PRIO, prev=20),
            run=1000, timer=300, waking=500, switched=900,
        )  # fmt: skip

    assert names(due_in_it())[:2] == [("blocked", "", 300), ("interrupt", "mmc0", 200)]
    slept = due_in_it(event(400, Kind.TIMER_ENTRY, name="hrtimer_wakeup"))
    assert names(slept)[0] == ("unexplained", "in make", 300)


def test_a_thread_that_is_stopped_again_before_its_code_runs_is_stopped_until_it_is_woken() -> None:
    late = replace(
        woken(
            switch(900, PID, "whylate", PRIO, prev=20),
            switch(920, 20, "make", 120, prev_state="T"),
            event(1500, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
            left="S", run=1700,
        ),
        switched_ns=1_000_900,
    )  # fmt: skip
    events = (*late.events[:-1], switch(1600, PID, "whylate", PRIO, prev=20))
    pieces = names(replace(late, events=events))
    # It had the CPU for 20 ns on its way into the stop.
    assert ("stopped by a signal", "", 600) in pieces
    assert pieces[-1] == ("return", "", 100)


def test_a_thread_that_is_preempted_before_its_code_runs_waits_for_who_preempts_it() -> None:
    late = replace(
        woken(
            switch(900, PID, "whylate", PRIO, prev=20),
            switch(920, 30, "urgent", 1, prev_state="R"),
            left="S", run=1700,
        ),
        switched_ns=1_000_900,
    )  # fmt: skip
    events = (*late.events[:-1], switch(1600, PID, "whylate", PRIO, prev=30, prev_state="S"))
    assert ("thread", "urgent", 680) in names(replace(late, events=events))


def test_a_thread_that_came_due_while_it_was_preempted_was_runnable_all_along() -> None:
    late = window(
        switch(-400, 20, "urgent", 1, prev=PID, prev_state="R"),
        switch(900, PID, "whylate", PRIO, prev=20),
        run=1000, switched=900,
    )  # fmt: skip
    assert names(late)[0] == ("thread", "urgent", 900)


def test_sched_deadline_comes_before_every_real_time_priority() -> None:
    late = woken(switch(300, 30, "dl", -1, prev=20), prev=30, left="S")
    assert ("thread", "dl", 600) in names(late)


def test_a_priority_that_was_inherited_or_raised_or_lowered_is_the_cause() -> None:
    inherited = woken(
        switch(300, 30, "holder", 120, prev=20), event(400, Kind.PRIO, id=30, prio=1),
        prev=30, left="S",
    )  # fmt: skip
    assert ("priority changed", "holder inherited one", 500) in names(inherited)
    raised = woken(left="S")
    out = replace(raised.events[-1], prev_prio=1, prev_state="S")
    pieces = names(replace(raised, events=(*raised.events[:-1], out)))
    assert ("priority changed", "make was raised", 800) in pieces
    lowered = [
        replace(each, prio=60) if each.kind is Kind.WAKING else each for each in raised.events
    ]
    other = switch(300, 30, "rt", 50, prev=20)
    lowered[2:2] = [other]
    lowered[-1] = replace(lowered[-1], prev_id=30, prev_prio=50)
    pieces = names(replace(raised, events=tuple(lowered)))
    assert ("priority changed", "its own was lowered: rt ran", 600) in pieces
    # With its own priority as planned the same choice needs a quota that was used up.
    given = event(880, Kind.TIMER_ENTRY, name="sched_rt_period_timer")
    lowered.insert(-1, given)
    as_planned = [replace(e, prio=PRIO) if e.kind is Kind.WAKING else e for e in lowered]
    pieces = names(replace(raised, events=tuple(as_planned)))
    assert ("throttling", "rt ran instead", 600) in pieces


@pytest.mark.parametrize(
    ("prio", "timer", "cause"),
    [
        (PRIO, "sched_rt_period_timer", "throttling"),
        (-1, "dl_task_timer", "deadline budget"),
        (120, "sched_cfs_period_timer", "CFS bandwidth"),
        (120, "hrtimer_wakeup", "unexplained"),
    ],
)
def test_a_quota_is_named_by_the_timer_that_gives_a_new_one(
    prio: int, timer: str, cause: str
) -> None:
    late = window(
        switch(-400, 20, "make", 120),
        event(100, Kind.WAKING, id=PID, prio=prio, target_cpu=0),
        switch(50_000, 0, "swapper/0", 120, prev=20, prev_state="S"),
        event(89_900, Kind.TIMER_ENTRY, name=timer),
        switch(90_000, PID, "whylate", prio, prev=0),
        run=90_100, waking=100, switched=90_000,
    )  # fmt: skip
    pieces = names(replace(late, prio=prio))
    assert (cause, "swapper/0 ran instead", 40_000) in pieces


def test_who_is_woken_on_another_cpu_was_held_up_there() -> None:
    late = woken(
        event(-50, Kind.IRQ_ENTRY, cpu=1, id=24, name="eth0"),
        event(70, Kind.IRQ_EXIT, cpu=1, id=24),
        left="S",
    )  # fmt: skip
    late = replace(late, waking_cpu=1, events=tuple(sorted(late.events, key=lambda e: e.time_ns)))
    pieces = names(late)
    assert pieces[:2] == [("woken late", "eth0 on CPU 1", 70), ("woken late", "on CPU 1", 30)]


def test_deferred_functions_name_what_a_softirq_or_a_worker_does() -> None:
    softirq = woken(
        event(200, Kind.SOFTIRQ_ENTRY, id=1, name="TIMER"),
        event(210, Kind.DEFERRED_ENTRY, name="slow_timer"),
        event(700, Kind.DEFERRED_EXIT),
        event(710, Kind.SOFTIRQ_EXIT, id=1, name="TIMER"),
        left="S",
    )
    assert ("softirq", "TIMER: slow_timer", 490) in names(softirq)
    worker = woken(
        switch(300, 30, "kworker/0:1", 1, prev=20),
        event(310, Kind.DEFERRED_ENTRY, name="flush_it"),
        prev=30, left="S",
    )  # fmt: skip
    assert ("thread", "kworker/0:1: flush_it", 590) in names(worker)


def test_what_a_thread_left_with_interrupts_off_is_not_the_switch_that_follows() -> None:
    late = window(
        switch(-400, 20, "culprit", 120),
        switch(60_000, 30, "next", 120, prev=20, prev_state="S"),
        event(60_500, Kind.VECTOR_ENTRY, name="local_timer"),
        event(60_510, Kind.STACK, name="timer", stack=("finish_task_switch+0x96",), enabled=True),
        event(60_600, Kind.VECTOR_EXIT, name="local_timer"),
        switch(61_000, PID, "whylate", PRIO, prev=30),
        run=61_100, timer=60_500, waking=60_550, switched=61_000,
    )  # fmt: skip
    assert names(late)[:2] == [
        ("interrupts disabled", "in culprit", 60_000),
        ("scheduling", "switch between other threads", 500),
    ]


def test_a_thread_that_is_moved_away_waits_for_nothing_on_its_own_cpu() -> None:
    late = woken(
        event(300, Kind.MIGRATE, id=PID, target_cpu=1),
        event(350, Kind.MIGRATE, id=99, target_cpu=0),
        event(700, Kind.MIGRATE, id=PID, target_cpu=0),
        left="S",
    )
    assert ("migration", "", 400) in names(late)


def test_the_timers_own_interrupt_is_no_cause_where_no_function_of_it_took_the_time() -> None:
    def breakdown(ns: int, detail: str) -> Breakdown:
        waking = Piece(0, 500, Cause.INTERRUPT, "local_timer: hrtimer_wakeup", Stage.WAKING)
        piece = Piece(500, 500 + ns, Cause.INTERRUPT, detail, Stage.RUNNABLE)
        return Breakdown(0, 1, 0, 500 + ns, (waking, piece))

    usual = usual_of([breakdown(2_000, "local_timer")] * 50)
    pieces = corrected(breakdown(300_000, "local_timer"), usual).pieces or ()
    causes = [piece.cause for piece in pieces]
    assert causes == [Cause.INTERRUPT, Cause.INTERRUPT, Cause.UNEXPLAINED]
    for named in ("local_timer: flush_it", "irq_work", "eth0"):
        assert corrected(breakdown(300_000, named), usual) == breakdown(300_000, named)
