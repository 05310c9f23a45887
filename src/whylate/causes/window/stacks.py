"""Kernel functions by what they reveal of a stack's place."""

from __future__ import annotations

import re

#: Last functions on the way into schedule() of a thread that an interrupt's end preempted.
PREEMPTED_AT_ONCE = frozenset({
    "preempt_schedule_irq",
    "raw_irqentry_exit_cond_resched",
    "irqentry_exit_cond_resched",
    "irqentry_exit_to_user_mode",
    "arm64_preempt_schedule_irq",
    "__irq_svc",
})  # fmt: skip
#: How the entries of interrupts begin. A stack that was taken later has nothing of the scheduler's
#: on it: the kernel leaves that out (in_sched_functions() in kernel/stacktrace.c).
OF_INTERRUPTS = ("asm_sysvec_", "asm_common_interrupt", "el1h_64_irq", "el0t_64_irq", "el0t_32_irq")
#: Where a thread sets the timer that it sleeps on.
GOING_TO_SLEEP = frozenset({"do_nanosleep", "hrtimer_nanosleep"})
#: How the entries of exceptions begin (x86): a page fault ends as an interrupt does, and until then
#: a kernel without full preemption is not preempted in it.
OF_EXCEPTIONS = "asm_exc_"
#: Functions that stand on every stack and say nothing of where a section was.
OF_THE_SCHEDULER = frozenset({
    "__schedule",
    "__schedule_loop",
    "schedule",
    "preempt_schedule",
    "preempt_schedule_common",
    "preempt_schedule_notrace",
    "preempt_schedule_thunk",
    "preempt_schedule_notrace_thunk",
    "__cond_resched",
    "dynamic_cond_resched",
    "dynamic_preempt_schedule",
    "dynamic_preempt_schedule_notrace",
    # The end of a system call or an exception: the functions behind them show which.
    "exit_to_user_mode_loop",
    "exit_to_user_mode_prepare",
    "syscall_exit_to_user_mode",
    "do_notify_resume",
    "irqentry_exit_to_user_mode",
    "do_syscall_64",
})  # fmt: skip
#: What a stack ends with where a system call was left, without a function that shows which.
OF_SYSTEM_CALLS = frozenset({
    "entry_SYSCALL_64_after_hwframe",
    "entry_SYSCALL_64",
    "el0t_64_sync_handler",
    "el0t_64_sync",
    "el0_svc",
})  # fmt: skip
#: Where the scheduler switches interrupts on that it had off while it switched threads.
OF_SWITCHING = frozenset({"finish_task_switch"})
#: Helpers in which interrupts are switched on for whoever called them.
OF_UNLOCKING = frozenset({
    "_raw_spin_unlock_irqrestore",
    "_raw_spin_unlock_irq",
    "_raw_read_unlock_irqrestore",
    "_raw_write_unlock_irqrestore",
    "_raw_read_unlock_irq",
    "_raw_write_unlock_irq",
    "__local_bh_enable_ip",
    "_raw_spin_unlock_bh",
    "finish_task_switch",
    "arch_local_irq_enable",
    "arch_local_irq_restore",
})  # fmt: skip


def preempted_at_once(names: list[str]) -> bool:
    """Whether a thread with that stack left the CPU at the end of an interrupt."""
    if any(name.startswith(OF_EXCEPTIONS) for name in names):
        return False
    return bool(PREEMPTED_AT_ONCE.intersection(names)) or any(
        name.startswith(OF_INTERRUPTS) for name in names
    )


def function_name(symbol: str) -> str:
    """Return a symbol less its offset and module: `f+0x12/0x40 [m]` is `f`."""
    return symbol.partition("+")[0].partition(" ")[0].partition(".isra")[0].partition(".part")[0]


#: Functions of tracing itself: they stand where a section begins or ends, and are no place.
#: Sources: kernel/trace/trace_irqsoff.c, trace_preemptirq.c, trace_sched_wakeup.c, ftrace.c and
#: kernel/sched/core.c of Linux 2.6.26 to 6.18, and what BPF programs run in.
_OF_TRACING = re.compile(
    r"(?:__)?trace_(?:hard|soft)irqs_(?:on|off)(?:_\w+)?|trace_preempt_(?:on|off)|(?:start|stop)_"
    r"critical_timings?|check_critical_timing|(?:__)?tracer_\w+|time_hardirqs_(?:on|off)"
    r"|lockdep_hardirqs_(?:on|off)(?:_\w+)?|trace_irq_(?:en|dis)able\w*|(?:__)?(?:update_max_tr"
    r"|ftrace_|trace_graph_|trace_stack|trace_function|trace_event_|traceiter_)\w*"
    r"|function_(?:stack_)?trace_call|irqsoff_\w+|(?:__)?wakeup_(?:tracer_|reset|probe_|print_)\w*"
    r"|probe_wakeup\w*|wakeup_(?:sched|trace)_\w+|preempt_count_(?:add|sub)|preempt_latency_\w+"
    r"|(?:add|sub)_preempt_count|mcount(?:_\w+)?|_mcount|__fentry__|(?:__)?bpf_(?:trace_run|trace_"
    r"|prog_)\w*|do_trace_\w+|(?:ftrace_)?return_to_handler|prepare_ftrace_return"
)


def is_of_tracing(symbol: str) -> bool:
    """Whether a function belongs to the tracer, and not to what it traced."""
    return _OF_TRACING.fullmatch(function_name(symbol)) is not None


def innermost_function(stack: tuple[str, ...], helpers: frozenset[str]) -> str:
    """Return the innermost function of a stack that has a name and is none of the helpers."""
    names = [
        name
        for symbol in stack
        if (name := function_name(symbol)) != "?" and not is_of_tracing(symbol)
    ]
    return next((name for name in names if name not in helpers), names[0] if names else "")
