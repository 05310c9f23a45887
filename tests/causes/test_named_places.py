"""What a stack, an interrupt of irq_work and a callback of RCU are named after."""

from __future__ import annotations

from dataclasses import replace

import pytest
from windows import DUE, PID, PRIO, busy_window, event, switch, window

from whylate.causes.window.piece import Cause, Piece
from whylate.causes.window.pieces import cut_window
from whylate.causes.window.stacks import function_label, function_name, place_in
from whylate.recording.events import Event, Kind
from whylate.recording.recorder.raw_events import Names, name_events
from whylate.recording.recorder.system_calls import system_call_name
from whylate.report.causes import LONGEST_DETAIL, cause_name
from whylate.wire.constants import EventKind, NameTable, RecorderStack
from whylate.wire.events import RawEvent

AT_THE_END = (
    "exit_to_user_mode_prepare+0x1",
    "syscall_exit_to_user_mode+0x1",
    "do_syscall_64+0x1",
    "entry_SYSCALL_64_after_hwframe+0x1",
)
#: As virt-riscv64 has it.
AT_THE_END_ON_RISCV = (
    "__schedule+0x5c8",
    "schedule+0x24",
    "syscall_exit_to_user_mode+0xc8",
    "do_trap_ecall_u+0xce",
    "handle_exception+0x14a",
)


def _stacked(*stack: str, call: str = "") -> list[Piece]:
    """The pieces of an activation that waited for `make`, with its stack, and a system call."""
    taken = event(901, Kind.STACK, id=20, name="switch", stack=stack, prev_state=call)
    made = busy_window()
    events = sorted([*made.events, taken], key=lambda each: each.time_ns)
    return cut_window(replace(made, events=tuple(events)), {}, 100)


def _section(pieces: list[Piece]) -> str:
    return next(piece.detail for piece in pieces if piece.cause is Cause.PREEMPTION_DISABLED)


def test_a_function_keeps_its_module_and_loses_what_the_compiler_made_of_it() -> None:
    assert function_label("f+0x12/0x40 [m]") == "f [m]"
    assert function_label("f.constprop.0.cold+0x12") == "f"
    assert function_name("f.isra.0+0x12 [m]") == "f"
    assert function_name("partition_cold+0x1") == "partition_cold"


@pytest.mark.parametrize(
    ("stack", "place"),
    [
        # A section that ends where its thread goes to sleep is its callers'.
        (("schedule_hrtimeout_range_clock+0x1", "spin+0x2 [drv]", "kthread+0x3"), "spin [drv]"),
        (("work_fn+0x1 [drv]", "process_one_work+0x2", "worker_thread+0x3"), "work_fn [drv]"),
        (("_raw_spin_unlock_irqrestore+0x1", "rcu_do_batch+0x2", "rcu_core+0x3"), ""),
        # What a softirq or an interrupt came upon is not what ran in it.
        (("__run_timers+0x1", "__do_softirq+0x2", "innocent+0x3"), ""),
        (("hrtimer_interrupt+0x1", "sysvec_apic_timer_interrupt+0x2", "innocent+0x3"), ""),
        (("do_nanosleep+0x1", "__x64_sys_nanosleep+0x2", "do_syscall_64+0x3"), "nanosleep()"),
        (("sys_imageblit+0x1 [sysimgblt]", "soft_cursor+0x2"), "sys_imageblit [sysimgblt]"),
        (("sys_poll+0x1", "el0_svc+0x2"), "poll()"),
        (("do_sys_poll+0x1", "__x64_sys_poll+0x2"), "do_sys_poll"),
        (("riscv_timer_interrupt+0x1", "do_irq+0x2", "handle_exception+0x3", "innocent+0x4"),
         "riscv_timer_interrupt"),
        (("handle_exception+0x3", "innocent+0x4"), ""),
        (("console_unlock+0x1", "_printk+0x1", "sysrq_handle_showmem+0x2"),
         "console_unlock of sysrq"),
        (("?", "?"), ""),
    ],
)  # fmt: skip
def test_a_stack_is_named_after_the_innermost_function_that_is_not_generic(
    stack: tuple[str, ...], place: str
) -> None:
    assert place_in(stack) == place


@pytest.mark.parametrize("end", [AT_THE_END, AT_THE_END_ON_RISCV], ids=["x86", "riscv"])
def test_the_end_of_a_system_call_is_named_after_the_call(end: tuple[str, ...]) -> None:
    assert _section(_stacked(*end, call="poll")) == "poll() in make"


def test_a_system_call_that_is_not_known_is_not_guessed() -> None:
    assert _section(_stacked(*AT_THE_END)) == "a system call in make"


def test_a_kernel_thread_is_in_no_system_call() -> None:
    pieces = _stacked("worker_thread+0x1", "kthread+0x2", call="read")
    assert _section(pieces) == "worker_thread in make"


def test_a_32_bit_programs_number_has_another_meaning() -> None:
    stack = (*AT_THE_END[:2], "do_int80_syscall_32+0x1", "entry_INT80_compat+0x2")
    assert "poll" not in _section(_stacked(*stack, call="poll"))


def test_a_section_in_a_work_item_is_named_after_it() -> None:
    made = busy_window(
        event(905, Kind.STACK, id=20, name="switch", stack=("worker_thread+0x1", "kthread+0x2")),
    )
    begin = event(-300, Kind.DEFERRED_ENTRY, name="work_fn [drv]")
    pieces = cut_window(replace(made, events=(*made.events[:1], begin, *made.events[1:])), {}, 100)
    assert _section(pieces) == "work_fn [drv] in make"


def test_the_only_function_of_an_irq_work_interrupt_is_named() -> None:
    pieces = cut_window(
        window(
            switch(-400, 20, "make"),
            event(10, Kind.VECTOR_ENTRY, name="irq_work"),
            event(11, Kind.CALL_ENTRY, name="slow [drv]"),
            event(800, Kind.VECTOR_EXIT, name="irq_work"),
            event(810, Kind.VECTOR_ENTRY, name="irq_work"),
            event(820, Kind.VECTOR_EXIT, name="irq_work"),
            run=1000,
        )
    )
    spent = {piece.detail: piece.length_ns for piece in pieces if piece.cause is Cause.INTERRUPT}
    # The next interrupt ran several: whatever came before names none of them.
    assert spent == {"irq_work": 10, "irq_work: slow [drv]": 789}


def _with_callback(*events: Event) -> list[Piece]:
    return cut_window(
        window(
            switch(-400, 20, "make"),
            event(100, Kind.VECTOR_ENTRY, name="local_timer"),
            event(150, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
            event(200, Kind.VECTOR_EXIT, name="local_timer"),
            event(210, Kind.SOFTIRQ_ENTRY, id=9, name="RCU"),
            *events,
            event(9000, Kind.SOFTIRQ_EXIT, id=9, name="RCU"),
            switch(9100, PID, "whylate", PRIO, prev=20),
            run=9200, timer=100, waking=150, switched=9100,
        )
    )  # fmt: skip


def test_a_callback_of_rcu_has_its_own_time_and_no_more() -> None:
    pieces = _with_callback(
        event(5000, Kind.VECTOR_ENTRY, name="reschedule"),
        event(5100, Kind.VECTOR_EXIT, name="reschedule"),
        event(8000, Kind.CALLBACK, id=20, name="free [drv]", duration_ns=6000),
    )
    named = [p for p in pieces if p.detail == "RCU: free [drv]"]
    assert [(p.start_ns - DUE, p.end_ns - DUE) for p in named] == [(2000, 5000), (5100, 8000)]
    assert sum(p.length_ns for p in pieces) == 9200
    assert {p.cause for p in named} == {Cause.SOFTIRQ}


def test_a_callback_says_nothing_of_another_thread() -> None:
    pieces = _with_callback(
        switch(3000, 30, "other", prev=20),
        switch(6000, 20, "make", prev=30),
        event(8000, Kind.CALLBACK, id=20, name="free [drv]", duration_ns=7000),
    )
    within = [p for p in pieces if "free" in p.detail]
    assert all(not 3000 <= p.start_ns - DUE < 6000 for p in within)
    assert within


def test_a_system_call_is_named_by_the_numbers_of_its_machine() -> None:
    assert system_call_name(7, "x86_64") == "poll"
    # The same numbers as arm64, and two of its own.
    assert system_call_name(98, "riscv64") == system_call_name(98, "aarch64") == "futex"
    assert system_call_name(259, "riscv64") == "riscv_flush_icache"
    assert system_call_name(260, "riscv64") == "wait4"
    assert system_call_name(259, "aarch64") == ""
    assert system_call_name(73, "aarch64") == "ppoll"
    assert system_call_name(7, "armv7l") == ""
    assert system_call_name(9999, "x86_64") == ""
    raw = [RawEvent(5, EventKind.STACK, RecorderStack.SWITCH, 0, 20, 0, 0, 1 + 7)]
    (stack,) = name_events(raw, 0, Names(), "x86_64")
    assert (stack.kind, stack.id, stack.prev_state) == (Kind.STACK, 20, "poll")
    raw = [RawEvent(5, EventKind.STACK, RecorderStack.SWITCH, 0, 20, 0, 0, 0)]
    assert [each.prev_state for each in name_events(raw, 0, Names(), "x86_64")] == [""]


def test_a_callback_arrives_with_its_function_and_length() -> None:
    names = Names()
    names.add(NameTable.FUNCTION, 3, "free+0x0 [drv]")
    raw = [RawEvent(5, EventKind.CALLBACK, 0, 0, 20, 7000, 3, 0)]
    (named,) = name_events(raw, 0, names, "x86_64")
    assert (named.id, named.name, named.duration_ns) == (20, "free [drv]", 7000)


def test_a_long_name_loses_its_middle_and_never_its_end() -> None:
    name = cause_name(Cause.PREEMPTION_DISABLED, f"{'f' * 400} in vdl")
    assert name.endswith(" in vdl")
    assert "…" in name
    assert len(name) <= LONGEST_DETAIL + 30
