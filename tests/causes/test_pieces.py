"""The rule by which a late activation is cut into pieces."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from windows import DUE, PID, PRIO, busy_window, event, switch, window

from whylate.causes.window.piece import Cause, Piece
from whylate.causes.window.pieces import cut_window, stack_after_ns
from whylate.causes.window.timeline import cut_segments
from whylate.recording.events import Event, Kind, Window


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """The windows here last about a microsecond."""
    monkeypatch.setattr("whylate.causes.window.pieces.STACK_AFTER_NS", 500)
    monkeypatch.setattr("whylate.causes.window.pieces.TO_THE_SCHEDULER_NS", 500)


IDLE = switch(-400, 0, "swapper/0")


def pieces_of(pieces: list[Piece]) -> list[tuple[str, str, int]]:
    return [(piece.cause.value, piece.detail, piece.length_ns) for piece in pieces]


def test_a_softirq_between_interrupt_and_switch_is_named_and_interrupts_in_it_are_netted_out() -> (
    None
):
    pieces = cut_window(
        busy_window(
            event(210, Kind.SOFTIRQ_ENTRY, id=3, name="NET_RX"),
            event(300, Kind.IRQ_ENTRY, id=24, name="eth0"),
            event(350, Kind.IRQ_EXIT, id=24),
            event(800, Kind.SOFTIRQ_EXIT, id=3, name="NET_RX"),
        )
    )
    assert ("softirq", "NET_RX", 90) in pieces_of(pieces)
    assert ("interrupt", "eth0", 50) in pieces_of(pieces)
    assert ("softirq", "NET_RX", 450) in pieces_of(pieces)
    assert ("return", "", 100) in pieces_of(pieces)
    assert ("interrupt", "local_timer: hrtimer_wakeup", 30) in pieces_of(pieces)


def test_a_thread_of_equal_priority_is_a_cause_and_a_lower_one_only_by_its_stack() -> None:
    assert ("thread", "make", 700) in pieces_of(cut_window(busy_window(prio=PRIO)))
    assert ("unexplained", "in make", 700) in pieces_of(cut_window(busy_window()))
    shows = event(899, Kind.STACK, name="switch",
                  stack=("__schedule+0x1", "preempt_schedule+0x4", "walk_cache+0x40/0x90 [drv]"),
                  )  # fmt: skip
    assert ("preemption disabled", "walk_cache [drv] in make", 700) in pieces_of(
        cut_window(busy_window(shows))
    )
    leaves = event(899, Kind.STACK, name="switch",
                   stack=("__schedule+0x1", "schedule+0x5a", "exit_to_user_mode_prepare+0x17c",
                          "do_syscall_64+0x69", "entry_SYSCALL_64_after_hwframe+0x6e"),
                   )  # fmt: skip
    assert ("preemption disabled", "a system call in make", 700) in pieces_of(
        cut_window(busy_window(leaves))
    )
    assert ("unexplained", "in make", 700) in pieces_of(cut_window(busy_window(AT_ONCE)))


def test_time_up_to_a_switch_has_no_evidence_where_others_have_functions_there() -> None:
    shows = event(899, Kind.STACK, name="switch",
                  stack=("__schedule+0x1", "preempt_schedule+0x4", "walk_cache+0x40/0x90 [drv]"),
                  )  # fmt: skip
    softirq = (event(210, Kind.SOFTIRQ_ENTRY, id=3, name="NET_RX"),
               event(500, Kind.SOFTIRQ_EXIT, id=3, name="NET_RX"))  # fmt: skip
    hooks = ["slow [tracer]", "a BPF program"]
    for late in (busy_window(*softirq, shows), busy_window(*softirq, prio=PRIO)):
        pieces = pieces_of(cut_window(late, untimed_hooks=hooks))
        assert ("unexplained", "before a switch: slow [tracer], a BPF program", 400) in pieces
        # A softirq ended before the switch began.
        assert ("softirq", "NET_RX", 290) in pieces
        # So did what the thread ran before that, up to the interrupts.
        assert all(
            length <= 100 for cause, _, length in pieces
            if cause in ("thread", "preemption disabled")
        )  # fmt: skip


AT_ONCE = event(899, Kind.STACK, name="switch",
                stack=("__schedule+0x1", "preempt_schedule_irq+0x4", "compute+0x40"))  # fmt: skip


def test_a_thread_that_goes_on_after_an_interrupt_is_no_evidence_however_long() -> None:
    """The host may have stopped the CPU, or the reschedule was lost: nothing shows which."""
    assert ("unexplained", "in make", 700) in pieces_of(cut_window(busy_window(AT_ONCE)))
    soon = busy_window(event(600, Kind.VECTOR_ENTRY, name="ipi"),
                    event(650, Kind.VECTOR_EXIT, name="ipi"), AT_ONCE)  # fmt: skip
    pieces = pieces_of(cut_window(soon))
    assert ("scheduling", "from make", 400) in pieces
    assert ("scheduling", "from make", 250) in pieces


def test_who_ran_until_the_interrupt_of_a_waking_came_may_have_held_it_off() -> None:
    woken = window(
        switch(-400, 20, "make", 120),
        event(100, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
        event(820, Kind.VECTOR_ENTRY, name="reschedule"),
        event(840, Kind.VECTOR_EXIT, name="reschedule"),
        AT_ONCE,
        switch(900, PID, "whylate", PRIO, prev=20),
        run=1000, waking=100, switched=900,
    )  # fmt: skip
    assert ("unexplained", "in make", 720) in pieces_of(cut_window(woken))


def late_timer(enabled: bool | None, *, idle: bool = False) -> Window:
    """Its interrupt came 400 ns late, and interrupted one instruction or another."""
    before = [switch(-400, 0, "swapper/0", 120), event(-390, Kind.IDLE_ENTRY, id=1)]
    return window(
        *(before if idle else [switch(-400, 20, "make", 120)]),
        event(400, Kind.VECTOR_ENTRY, name="local_timer"),
        event(420, Kind.STACK, name="timer", stack=("walk+0x1",), enabled=enabled),
        event(450, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
        event(500, Kind.VECTOR_EXIT, name="local_timer"),
        switch(900, PID, "whylate", PRIO, prev=0 if idle else 20),
        run=1000, timer=400, waking=450, switched=900,
    )  # fmt: skip


def test_what_is_seen_after_the_activation_ran_says_nothing_of_it() -> None:
    """A program's next timer comes in the same window, which ends when the CPU is taken again."""
    late = late_timer(enabled=False)
    after = event(1500, Kind.STACK, name="timer", stack=("do_nanosleep+0x52",), enabled=True)
    longer = replace(late, events=(*late.events, after))
    assert cut_window(longer) == cut_window(late)


@pytest.mark.parametrize("prio", [100, 120, 130, 139])
@pytest.mark.parametrize("chosen", [-400, 300])
def test_threads_without_real_time_priority_share_the_cpu_whatever_their_nice_value(
    prio: int, chosen: int
) -> None:
    """Neither throttling nor a section without preemption is why another one had its slice."""
    fair = replace(
        window(
            switch(-400, 20, "nice", prio),
            event(150, Kind.WAKING, id=PID, prio=120, target_cpu=0),
            *([switch(chosen, 21, "nice", prio, prev=20)] if chosen > 0 else []),
            event(89_990, Kind.STACK, name="switch", stack=("__schedule", "schedule", "futex")),
            switch(90_000, PID, "pacer", 120, prev=20),
            run=90_000, timer=150, waking=150, switched=90_000,
        ),
        prio=120,
    )  # fmt: skip
    found = [
        (piece.cause, piece.detail) for piece in cut_window(fair) if piece.start_ns >= DUE + 150
    ]
    assert set(found) == {(Cause.THREAD, "nice")}
    causes = {piece.cause for piece in cut_window(replace(fair, prio=PRIO))}
    assert Cause.THREAD not in causes


def test_a_timer_that_may_be_put_off_did_not_come_late() -> None:
    late = late_timer(enabled=False)
    assert Cause.OUTSIDE in {piece.cause for piece in cut_window(late)}
    put_off = {piece.cause for piece in cut_window(replace(late, prio=120))}
    assert Cause.OUTSIDE not in put_off
    assert Cause.UNEXPLAINED in put_off


@pytest.mark.parametrize(
    ("enabled", "named"),
    [
        (True, ("interrupts disabled", "walk", 400)),
        # Interrupts were on: no code that was recorded held the timer up.
        (False, ("outside the traced kernel", "timer delayed", 400)),
        (None, ("unexplained", "in make", 400)),
    ],
)
def test_a_late_timer_is_the_kernels_doing_or_comes_from_outside_or_is_not_known(
    enabled: bool | None, named: tuple[str, str, int]
) -> None:
    assert pieces_of(cut_window(late_timer(enabled)))[0] == named


def test_beyond_its_declared_exit_latency_no_recorded_code_runs_in_an_idle_state() -> None:
    pieces = cut_window(late_timer(False, idle=True), {1: 100})
    assert pieces_of(pieces)[:2] == [
        ("idle exit", "state 1", 100),
        ("outside the traced kernel", "while idle", 300),
    ]
    # Of a state that is left with interrupts disabled too: no code of the kernel's ran in it.
    assert cut_window(late_timer(True, idle=True), {1: 100}) == pieces


def test_an_ordinary_thread_waits_its_turn_whatever_the_others_nice_value() -> None:
    waiting = replace(busy_window(prio=139), prio=120)
    assert ("thread", "make", 700) in pieces_of(cut_window(waiting))
    # Nobody throttles it: it may have been queued for another CPU.
    chosen = replace(busy_window(switch(400, 30, "logger", 139, prev=20)), prio=120)
    assert ("thread", "logger", 500) in pieces_of(cut_window(chosen))


def test_a_stack_says_nothing_of_whom_it_is_not() -> None:
    stack = ("__schedule+0x1", "preempt_schedule+0x4", "walk_cache+0x40/0x90 [drv]")
    its_own = event(899, Kind.STACK, id=20, name="switch", stack=stack)
    assert ("preemption disabled", "walk_cache [drv] in make", 700) in pieces_of(
        cut_window(busy_window(its_own))
    )
    other = event(899, Kind.STACK, id=21, name="switch", stack=stack)
    assert ("unexplained", "in make", 700) in pieces_of(cut_window(busy_window(other)))


def test_a_stack_without_names_says_nothing() -> None:
    hidden = event(899, Kind.STACK, id=20, name="switch", stack=("?", "?", "?"))
    assert ("unexplained", "in make", 700) in pieces_of(cut_window(busy_window(hidden)))


def test_a_softirq_that_wakes_a_programs_thread_is_named_from_its_raise_on() -> None:
    pieces = cut_window(
        window(
            switch(-400, 20, "make", 120),
            event(-50, Kind.IRQ_ENTRY, id=24, name="eth0"),
            event(0, Kind.SOFTIRQ_RAISE, id=3, name="NET_RX"),
            event(100, Kind.IRQ_EXIT, id=24),
            event(110, Kind.SOFTIRQ_ENTRY, id=3, name="NET_RX"),
            event(400, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
            event(500, Kind.SOFTIRQ_EXIT, id=3, name="NET_RX"),
            switch(900, PID, "server", PRIO, prev=20),
            run=900, timer=0, waking=400, switched=900,
        )
    )  # fmt: skip
    assert pieces_of(pieces)[:4] == [
        ("interrupt", "eth0", 100),
        ("unexplained", "in make", 10),
        ("softirq", "NET_RX", 290),
        ("softirq", "NET_RX", 100),
    ]


def test_idle_that_is_gone_into_while_a_thread_is_runnable_is_throttling() -> None:
    def seen(*between: Event) -> list[tuple[str, str, int]]:
        return pieces_of(cut_window(window(
            IDLE,
            event(100, Kind.VECTOR_ENTRY, name="local_timer"),
            event(150, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
            event(200, Kind.VECTOR_EXIT, name="local_timer"),
            *between,
            switch(90_000, PID, "whylate", PRIO, prev=0),
            run=90_100, timer=100, waking=150, switched=90_000,
        )))  # fmt: skip

    assert ("scheduling", "from idle", 89_800) in seen()
    # So soon it may have been woken from another CPU while idle was being entered.
    assert ("scheduling", "from idle", 89_800) in seen(event(900, Kind.IDLE_ENTRY, id=1))
    # Passing it over is no evidence of a quota; the timer that gives a new one is.
    chosen = event(9_000, Kind.IDLE_ENTRY, id=1)
    assert ("unexplained", "swapper/0 ran instead", 89_800) in seen(chosen)
    given = event(89_900, Kind.TIMER_ENTRY, name="sched_rt_period_timer")
    assert {("throttling", "swapper/0 ran instead", length) for length in (89_700, 100)} <= set(
        seen(chosen, given)
    ) or ("throttling", "swapper/0 ran instead", 89_800) in seen(chosen, given)


def test_who_ran_before_idle_was_chosen_was_let_run_by_throttling_too() -> None:
    pieces = pieces_of(cut_window(window(
        switch(-400, 20, "make"),
        event(150, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
        switch(50_000, 0, "swapper/0", prev=20, prev_state="S"),
        event(89_900, Kind.TIMER_ENTRY, name="sched_rt_period_timer"),
        switch(90_000, PID, "whylate", PRIO, prev=0),
        run=90_100, waking=150, switched=90_000,
    )))  # fmt: skip
    assert ("throttling", "make ran instead", 49_850) in pieces
    assert ("throttling", "swapper/0 ran instead", 40_000) in pieces


def test_a_page_fault_that_ends_is_a_section_and_an_interrupt_that_ends_is_none() -> None:
    way = ("__schedule+0x4", "schedule+0x5a", "exit_to_user_mode_prepare+0x17c",
           "irqentry_exit_to_user_mode+0x5")  # fmt: skip
    fault = event(899, Kind.STACK, name="switch", stack=(*way, "asm_exc_page_fault+0x22"))
    assert ("preemption disabled", "asm_exc_page_fault in make", 700) in pieces_of(
        cut_window(busy_window(fault))
    )
    timer = event(899, Kind.STACK, name="switch", stack=(*way, "asm_sysvec_apic_timer+0x1a"))
    assert ("unexplained", "in make", 700) in pieces_of(cut_window(busy_window(timer)))


def test_a_stack_that_was_taken_later_has_nothing_of_the_scheduler() -> None:
    # What lies below is how an interrupt begins: the thread was preempted at its end.
    at_once = event(900, Kind.STACK, name="switch",
                    stack=("irqentry_exit+0x36", "asm_sysvec_apic_timer_interrupt+0x16", "f+0x1"),
                    )  # fmt: skip
    assert ("unexplained", "in make", 700) in pieces_of(cut_window(busy_window(at_once)))
    section = event(900, Kind.STACK, name="switch", stack=("copy_page_range+0x1301", "f+0x1"))
    assert ("preemption disabled", "copy_page_range in make", 700) in pieces_of(
        cut_window(busy_window(section))
    )


def test_a_thread_that_went_to_sleep_was_not_preempted_before_and_needs_no_stack() -> None:
    window = busy_window()
    assert window.switched_ns is not None
    for state, expected in (("D", "preemption disabled"), ("R", "unexplained")):
        events = tuple(
            replace(seen, prev_state=state)
            if seen.kind is Kind.SWITCH and seen.time_ns == window.switched_ns
            else seen
            for seen in window.events
        )
        left = replace(window, events=events)
        # For so long that there would have been a stack.
        pieces = pieces_of(cut_window(left, stacks_after_ns=700))
        assert (expected, "in make", 700) in pieces


def test_a_switch_too_short_for_a_stack_is_what_switching_takes() -> None:
    window = busy_window()
    assert window.switched_ns is not None
    soon = replace(window, waking_ns=window.switched_ns - 400)
    assert ("scheduling", "from make", 400) in pieces_of(cut_window(soon))


def test_a_stack_is_taken_of_what_takes_half_of_the_threshold_and_never_later() -> None:
    assert stack_after_ns(None) == stack_after_ns(1_000_000)
    assert stack_after_ns(800) == 400


def test_what_taking_a_stack_took_is_whylates_own() -> None:
    shows = event(850, Kind.STACK, name="switch", duration_ns=90,
                  stack=("__schedule+0x1", "preempt_schedule+0x4", "walk_cache+0x40/0x90 [drv]"),
                  )  # fmt: skip
    pieces = pieces_of(cut_window(busy_window(shows)))
    # It began in the section and ended on the way back.
    assert pieces[-4:] == [
        ("preemption disabled", "walk_cache [drv] in make", 650),
        ("recording", "its stack", 50),
        ("recording", "its stack", 40),
        ("return", "", 60),
    ]


def test_a_lower_priority_thread_that_is_chosen_meanwhile_is_throttling() -> None:
    pieces = cut_window(
        busy_window(
            switch(400, 30, "logger", prev=20),
            event(850, Kind.TIMER_ENTRY, name="sched_rt_period_timer"),
            name="hog",
            prio=PRIO,
        )
    )
    assert ("thread", "hog", 200) in pieces_of(pieces)
    assert ("throttling", "logger ran instead", 500) in pieces_of(pieces)


def late_interrupt(*stack: Event, ran: Event | None = None) -> Window:
    return window(
        ran or switch(-400, 20, "make"),
        *stack,
        event(700, Kind.VECTOR_ENTRY, name="local_timer"),
        event(750, Kind.VECTOR_EXIT, name="local_timer"),
        switch(800, PID, "whylate", PRIO, prev=20),
        run=900,
        timer=700,
        waking=720,
        switched=800,
    )


@pytest.mark.parametrize(
    ("state", "expected"),
    [("", ("lock", "mmap_lock", 300)), ("S", ("thread", "hog", 700))],
    ids=["spins", "on its way to sleep"],
)
def test_only_what_is_spun_for_keeps_the_cpu(state: str, expected: tuple[str, str, int]) -> None:
    pieces = pieces_of(
        cut_window(
            window(
                switch(-400, 20, "hog", PRIO),
                event(50, Kind.VECTOR_ENTRY, name="local_timer"),
                event(60, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
                event(100, Kind.VECTOR_EXIT, name="local_timer"),
                event(200, Kind.LOCK_BEGIN, id=0xBEEF, name="mmap_lock", prev_state=state),
                event(500, Kind.LOCK_END, id=0xBEEF),
                switch(800, PID, "whylate", PRIO, prev=20),
                run=900,
                timer=50,
                waking=60,
                switched=800,
            )
        )
    )
    assert expected in pieces


def test_a_mutex_that_is_slept_for_is_spun_for_no_more() -> None:
    segments = cut_segments(
        [
            switch(0, 20, "hog", PRIO),
            event(100, Kind.LOCK_BEGIN, id=0xBEEF, name="mutex"),
            event(200, Kind.LOCK_BEGIN, id=0xBEEF, name="mutex", prev_state="S"),
            event(300, Kind.LOCK_END, id=0xBEEF),
        ],
        0,
        DUE,
        DUE + 400,
    )
    assert [(part.lock, part.sleeps_for) for part in segments] == [
        ("", ""), ("mutex", ""), ("", "mutex"), ("", "")
    ]  # fmt: skip


def test_a_late_interrupt_needs_proof_that_interrupts_were_off() -> None:
    def shows(enabled: bool | None) -> Event:
        return event(710, Kind.STACK, name="timer", enabled=enabled,
                     stack=("_raw_spin_unlock_irqrestore+0x1b/0x40", "flush_it+0x9/0x20 [drv]"),
                     )  # fmt: skip

    assert pieces_of(cut_window(late_interrupt(shows(True))))[0] == (
        "interrupts disabled",
        "flush_it [drv]",
        700,
    )
    assert pieces_of(cut_window(late_interrupt(shows(False))))[0] == (
        "outside the traced kernel",
        "timer delayed",
        700,
    )
    for stacks in ([shows(None)], []):
        assert pieces_of(cut_window(late_interrupt(*stacks)))[0] == ("unexplained", "in make", 700)


@pytest.mark.parametrize(
    ("ran", "below", "expected"),
    [
        (switch(-400, 20, "make"), (), ("interrupts disabled", "", 700)),
        (switch(-400, 20, "hog", PRIO), (), ("thread", "hog", 700)),
        # A function that can be named is more of use, whoever called it.
        (
            switch(-400, 20, "hog", PRIO),
            ("flush_it+0x9/0x20 [drv]",),
            ("interrupts disabled", "flush_it [drv]", 700),
        ),
    ],
    ids=["of lower priority", "of the same priority", "a function"],
)
def test_a_more_urgent_thread_has_the_cpu_also_where_nobody_knows_why_interrupts_were_off(
    ran: Event, below: tuple[str, ...], expected: tuple[str, str, int]
) -> None:
    stack = event(710, Kind.STACK, name="timer", enabled=True,
                  stack=("_raw_spin_unlock_irqrestore+0x1b/0x40", *below),
                  )  # fmt: skip
    assert pieces_of(cut_window(late_interrupt(stack, ran=ran)))[0] == expected


def test_nothing_shows_what_holds_a_thread_up_on_its_way_to_sleep() -> None:
    """Its timer came at once: interrupts were off for a moment only, in its own name."""
    asleep = on_its_own_way(enabled=True)
    assert pieces_of(cut_window(asleep))[0] == ("unexplained", "before sleep", 700)
    shown = on_its_own_way("do_nanosleep+0x52", enabled=True)
    assert pieces_of(cut_window(shown))[0] == ("unexplained", "before sleep", 700)
    awake = replace(asleep, events=asleep.events[:1], timer_ns=None)
    assert pieces_of(cut_window(awake)) == [("return", "did not sleep", 1000)]


def on_its_own_way(*below: str, enabled: bool) -> Window:
    """Its timer's interrupt came 700 ns late, and found the thread itself."""
    stack = ("_raw_spin_unlock_irqrestore+0x19", *below)
    return window(
        switch(-400, PID, "whylate", PRIO, prev=20),
        event(700, Kind.VECTOR_ENTRY, name="local_timer"),
        event(710, Kind.STACK, id=PID, name="timer", enabled=enabled, stack=stack),
        event(750, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
        event(800, Kind.VECTOR_EXIT, name="local_timer"),
        run=1000,
        timer=700,
    )


def test_a_program_can_hold_its_own_timer_up() -> None:
    ioctl = on_its_own_way("shifter_ioctl+0x80", enabled=True)
    assert pieces_of(cut_window(ioctl))[0] == (
        "interrupts disabled",
        "shifter_ioctl",
        700,
    )
    busy = on_its_own_way("shifter_ioctl+0x80", enabled=False)
    assert pieces_of(cut_window(busy))[0] == (
        "outside the traced kernel",
        "timer delayed",
        700,
    )


def test_a_thread_of_equal_priority_is_a_cause_whenever_the_interrupt_comes() -> None:
    def pending(prio: int, *stacks: Event) -> tuple[str, str, int]:
        late = late_interrupt(*stacks)
        events = [replace(event, prio=prio) if event.id == 20 else event for event in late.events]
        return pieces_of(cut_window(replace(late, events=tuple(events))))[0]

    assert pending(PRIO) == ("thread", "make", 700)
    assert pending(PRIO + 1) == ("unexplained", "in make", 700)
    off = event(710, Kind.STACK, name="timer", enabled=True, stack=("flush_it+0x9/0x20 [drv]",))
    assert pending(PRIO, off) == ("interrupts disabled", "flush_it [drv]", 700)


def test_interrupts_that_come_on_as_a_switch_ends_were_off_for_the_switch() -> None:
    """They are off from where a thread leaves to where the next one goes on."""

    def pending(prio: int) -> list[tuple[str, str, int]]:
        symbol = "finish_task_switch.isra.0+0x96/0x2e0"
        stack = event(710, Kind.STACK, name="timer", enabled=True, stack=(symbol,))
        late = late_interrupt(switch(300, 30, "rcu_preempt", 120), stack)
        events = [replace(event, prio=prio) if event.id == 20 else event for event in late.events]
        return pieces_of(cut_window(replace(late, events=tuple(events))))[:2]

    assert pending(PRIO + 1)[0] == ("scheduling", "switch between other threads", 700)
    # Its own way out, for which it would have had to be waited.
    assert pending(PRIO) == [
        ("thread", "make", 300),
        ("scheduling", "switch between other threads", 400),
    ]


def test_what_a_kernel_does_not_show_is_not_observed() -> None:
    """Another thread ran when it was due, and then it ran itself, of which nothing was recorded."""
    hidden = window(
        switch(-400, 20, "make", 120),
        event(100, Kind.VECTOR_ENTRY, name="eth0"),
        event(200, Kind.VECTOR_EXIT, name="eth0"),
        run=1000,
    )
    assert pieces_of(cut_window(hidden)) == [
        ("unexplained", "in make", 100),
        ("interrupt", "eth0", 100),
        ("not observed", "hidden by the kernel", 800),
    ]
    assert pieces_of(cut_window(replace(hidden, waking_ns=DUE + 150)))[-1] == (
        "unexplained",
        "in make",
        800,
    )
    seen = (*hidden.events, switch(950, PID, "whylate", PRIO, prev=20))
    assert "not observed" not in {
        name for name, _, _ in pieces_of(cut_window(replace(hidden, events=seen)))
    }


def test_idle_answers_for_no_more_than_its_state_says() -> None:
    late = window(
        IDLE,
        event(-390, Kind.IDLE_ENTRY, id=2),
        event(640, Kind.IDLE_EXIT),
        event(700, Kind.VECTOR_ENTRY, name="local_timer"),
        event(750, Kind.VECTOR_EXIT, name="local_timer"),
        switch(800, PID, "whylate", PRIO, prev=0),
        run=900,
        timer=700,
        waking=720,
        switched=800,
    )
    assert pieces_of(cut_window(late, {2: 500}))[:2] == [
        ("idle exit", "state 2", 500),
        ("outside the traced kernel", "while idle", 140),
    ]
    assert pieces_of(cut_window(late))[0] == ("outside the traced kernel", "while idle", 640)


def test_a_lock_that_is_spun_for_stands_above_the_thread_that_does() -> None:
    pieces = cut_window(
        busy_window(
            event(300, Kind.LOCK_BEGIN, id=0xBEEF, name="zone_lock"),
            event(600, Kind.LOCK_END, id=0xBEEF),
            prio=PRIO,
        )
    )
    assert ("lock", "zone_lock", 300) in pieces_of(pieces)
    assert ("thread", "make", 300) in pieces_of(pieces)


def test_page_faults_of_the_measured_thread() -> None:
    pieces = cut_window(
        window(
            IDLE,
            event(10, Kind.VECTOR_ENTRY, name="local_timer"),
            event(30, Kind.VECTOR_EXIT, name="local_timer"),
            switch(50, PID, "whylate", PRIO, prev=0),
            event(80, Kind.FAULT, id=PID),
            run=400,
            timer=10,
            waking=20,
            switched=50,
        )
    )
    assert pieces_of(pieces)[-2:] == [("return", "", 30), ("page fault", "", 320)]


def test_an_nmi_that_is_known_at_its_end_is_put_over_what_it_interrupted() -> None:
    pieces = cut_window(busy_window(event(500, Kind.NMI, name="perf", duration_ns=100), prio=PRIO))
    assert ("nmi", "perf", 100) in pieces_of(pieces)
    assert pieces_of(pieces).count(("thread", "make", 200)) == 1
    assert ("thread", "make", 400) in pieces_of(pieces)


def test_what_was_not_recorded_is_not_observed_and_stays() -> None:
    late = busy_window(prio=PRIO)
    pieces = cut_window(replace(late, observed_ns=DUE + 130, events=late.events[3:]))
    assert {piece.cause for piece in pieces[:-1]} == {Cause.NOT_OBSERVED}
    assert pieces_of(pieces)[-1] == ("return", "", 100)
    nothing = window(run=500)
    assert pieces_of(cut_window(nothing)) == [("not observed", "", 500)]


def test_stolen_time_is_taken_from_what_is_unexplained_first_and_only_what_surely_fell_here() -> (
    None
):
    late = window(
        switch(-400, 20, "make"),
        event(700, Kind.VECTOR_ENTRY, name="local_timer"),
        event(750, Kind.VECTOR_EXIT, name="local_timer"),
        event(800, Kind.STEAL, duration_ns=1000),
        switch(800, PID, "whylate", PRIO, prev=20),
        run=900,
        timer=700,
        waking=720,
        switched=800,
    )
    # 400 ns of it may have been taken before the activation was due.
    assert pieces_of(cut_window(late))[:2] == [("unexplained", "in make", 100), ("steal", "", 600)]


def test_the_softirq_of_a_thread_waits_for_it_with_preempt_rt() -> None:
    pieces = cut_window(
        busy_window(
            event(250, Kind.SOFTIRQ_ENTRY, id=3, name="NET_RX"),
            switch(300, 31, "urgent", PRIO, prev=20),
            switch(500, 20, "irq/24-eth0", PRIO, prev=31),
            event(700, Kind.SOFTIRQ_EXIT, id=3, name="NET_RX"),
            name="irq/24-eth0",
            prio=PRIO,
        )
    )
    assert ("softirq", "NET_RX", 50) in pieces_of(pieces)
    assert ("thread", "urgent", 200) in pieces_of(pieces)
    assert ("softirq", "NET_RX", 200) in pieces_of(pieces)
    assert ("thread", "irq/24-eth0", 50) in pieces_of(pieces)


def test_nothing_between_due_and_run_has_no_piece() -> None:
    assert cut_window(window(run=0)) == []
    assert cut_window(window(run=-5)) == []


KINDS = st.sampled_from(list(Kind))


@st.composite
def any_event(draw: st.DrawFn) -> Event:
    return event(
        draw(st.integers(-1000, 3000)),
        draw(KINDS),
        cpu=draw(st.sampled_from([0, 0, 0, 1])),
        id=draw(st.sampled_from([0, 1, 2, PID, 20])),
        name=draw(st.sampled_from(["", "a", "b", "timer", "switch"])),
        prio=draw(st.sampled_from([0, PRIO, 99, 120])),
        prev_id=draw(st.sampled_from([0, PID, 20])),
        duration_ns=draw(st.integers(0, 5000)),
        stack=draw(st.sampled_from([(), ("f+1",), ("__schedule", "g")])),
        enabled=draw(st.sampled_from([None, True, False])),
    )


STAMP = st.none() | st.integers(-500, 3000)


@given(
    st.lists(any_event(), max_size=40), st.integers(1, 2500), STAMP, STAMP, STAMP,
    st.integers(-800, 3000), st.booleans(),
)  # fmt: skip
def test_pieces_fill_the_window_to_the_nanosecond_whatever_was_recorded(
    events: list[Event],
    run: int,
    timer: int | None,
    waking: int | None,
    switched: int | None,
    observed: int,
    in_order: bool,
) -> None:
    if in_order:
        events = sorted(events, key=lambda event: event.time_ns)
    late = window(*events, run=run, timer=timer, waking=waking, switched=switched,
                  observed=observed)  # fmt: skip
    pieces = cut_window(late, {1: 50})
    assert pieces[0].start_ns == late.due_ns
    assert pieces[-1].end_ns == late.run_ns
    assert all(piece.length_ns > 0 for piece in pieces)
    assert all(piece.end_ns == other.start_ns for piece, other in pairwise(pieces))
    assert sum(piece.length_ns for piece in pieces) == late.latency_ns
    unseen = min(max(late.observed_ns, late.due_ns), late.run_ns) - late.due_ns
    assert sum(p.length_ns for p in pieces if p.cause is Cause.NOT_OBSERVED) >= unseen


@pytest.mark.parametrize("cause", [Cause.THREAD, Cause.SOFTIRQ, Cause.INTERRUPT, Cause.NMI])
def test_no_piece_is_named_without_an_event_that_says_so(cause: Cause) -> None:
    late = busy_window()
    kinds = {Cause.THREAD: Kind.SWITCH, Cause.SOFTIRQ: Kind.SOFTIRQ_ENTRY,
             Cause.INTERRUPT: Kind.VECTOR_ENTRY, Cause.NMI: Kind.NMI}  # fmt: skip
    events = tuple(event for event in late.events if event.kind is not kinds[cause])
    blind = replace(late, events=events)
    assert all(piece.cause is not cause for piece in cut_window(blind))


def test_an_interrupt_that_comes_while_a_lock_is_spun_for_is_an_interrupt() -> None:
    pieces = pieces_of(cut_window(busy_window(
        event(300, Kind.LOCK_BEGIN, id=0xBEEF, name="zone_lock"),
        event(400, Kind.IRQ_ENTRY, id=24, name="eth0"),
        event(450, Kind.LOCK_BEGIN, id=0xF00D, name="queue_lock"),
        event(460, Kind.LOCK_END, id=0xF00D),
        event(500, Kind.IRQ_EXIT, id=24),
        event(600, Kind.LOCK_END, id=0xBEEF),
    )))  # fmt: skip
    assert pieces[6:12] == [
        ("lock", "zone_lock", 100),
        ("interrupt", "eth0", 50),
        ("lock", "queue_lock", 10),
        ("interrupt", "eth0", 40),
        ("lock", "zone_lock", 100),
        ("unexplained", "in make", 300),
    ]
