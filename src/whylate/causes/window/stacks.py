"""Kernel functions by what they reveal of a stack's place."""

from __future__ import annotations

import re
from collections.abc import Sequence

from whylate.recording.recorder.system_calls import is_system_call

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
OF_INTERRUPTS = ("asm_sysvec_", "asm_common_interrupt", "el1h_64_irq", "el0t_64_irq", "el0t_32_irq",
                 "do_irq")  # fmt: skip
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
    "do_trap_ecall_u",
})  # fmt: skip
#: What a stack ends with where a system call was left, without a function that shows which.
OF_SYSTEM_CALLS = frozenset({
    "entry_SYSCALL_64_after_hwframe",
    "entry_SYSCALL_64",
    "el0t_64_sync_handler",
    "el0t_64_sync",
    "el0_svc",
    "do_trap_ecall_u",
})  # fmt: skip
#: Entries of system calls of 32-bit programs, which have other numbers.
OF_COMPAT_CALLS = frozenset({
    "do_int80_syscall_32",
    "do_int80_emulation",
    "do_fast_syscall_32",
    "do_SYSENTER_32",
    "entry_SYSENTER_compat_after_hwframe",
    "entry_SYSCALL_compat_after_hwframe",
    "el0_svc_compat",
    "el0t_32_sync",
    "el0t_32_sync_handler",
})  # fmt: skip
#: Where the scheduler switches interrupts on that it had off while it switched threads.
OF_SWITCHING = frozenset({"finish_task_switch"})
#: Functions that call whatever was handed to them: the work is in the function that they called.
OF_DISPATCH = frozenset({
    "process_one_work",
    "process_scheduled_works",
    "worker_thread",
    "kthread",
    "kthread_worker_fn",
    "ret_from_fork",
    "ret_from_fork_asm",
    "smpboot_thread_fn",
    "run_ksoftirqd",
    "irq_thread",
    "irq_thread_fn",
    "irq_forced_thread_fn",
    "cpu_stopper_thread",
    "irq_work_run",
    "irq_work_run_list",
    "irq_work_single",
    "run_irq_workd",
    "rcu_do_batch",
    "rcu_core",
    "rcu_core_si",
    "rcu_cpu_kthread",
    "rcu_nocb_cb_kthread",
    "call_timer_fn",
    "expire_timers",
    "__run_timers",
    "__run_timer_base",
    "run_timer_base",
    "run_timer_softirq",
    "__hrtimer_run_queues",
    "hrtimer_run_queues",
    "hrtimer_run_softirq",
    "hrtimer_interrupt",
    "tasklet_action",
    "tasklet_hi_action",
    "tasklet_action_common",
    "notifier_call_chain",
    "atomic_notifier_call_chain",
    "blocking_notifier_call_chain",
    "raw_notifier_call_chain",
    "ksys_read",
    "ksys_write",
})  # fmt: skip
#: Where a thread goes to sleep, or is about to: what it did before is its callers'.
OF_WAITING = frozenset({
    "schedule_timeout",
    "schedule_timeout_interruptible",
    "schedule_timeout_uninterruptible",
    "schedule_timeout_killable",
    "schedule_timeout_idle",
    "schedule_hrtimeout",
    "schedule_hrtimeout_range",
    "schedule_hrtimeout_range_clock",
    "do_nanosleep",
    "hrtimer_nanosleep",
    "common_nsleep",
    "common_nsleep_timens",
    "usleep_range_state",
    "msleep",
    "io_schedule",
    "io_schedule_timeout",
    "wait_for_completion",
    "wait_for_common",
    "__wait_for_common",
    "do_wait_for_common",
    "futex_wait_queue",
    "futex_wait_queue_me",
    "futex_wait",
    "__futex_wait",
    "do_futex",
})  # fmt: skip
#: Beyond these, outwards, is what was interrupted, or whatever a softirq came upon.
_BORDERS = frozenset({
    "__do_softirq",
    "__softirqentry_text_start",
    "handle_softirqs",
    "do_softirq",
    "irq_exit_rcu",
    "__irq_exit_rcu",
    "common_interrupt",
    "__irq_svc",
    "el1_interrupt",
    "el1h_64_irq",
    "el1h_64_irq_handler",
    # Of interrupts, exceptions and system calls.
    "handle_exception",
})  # fmt: skip
#: The entries of interrupts and exceptions on x86.
_BORDER_ENTRIES = ("asm_", "sysvec_")
_SYSTEM_CALL = re.compile(r"__(?:x64|ia32|arm64|s390x?|riscv|se|do)_sys_(\w+)|sys_(\w+)")
_SYSRQ = frozenset({"__handle_sysrq", "handle_sysrq", "write_sysrq_trigger"})
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


_COMPILERS = re.compile(r"\.(?:isra|part|constprop|cold)\b.*")


def preempted_at_once(names: list[str]) -> bool:
    """Whether a thread with that stack left the CPU at the end of an interrupt."""
    if any(name.startswith(OF_EXCEPTIONS) for name in names):
        return False
    return bool(PREEMPTED_AT_ONCE.intersection(names)) or any(
        name.startswith(OF_INTERRUPTS) for name in names
    )


def function_name(symbol: str) -> str:
    """Return a symbol less its offset and module: `f+0x12/0x40 [m]` is `f`."""
    return _COMPILERS.sub("", symbol.partition("+")[0].partition(" ")[0])


def function_label(symbol: str) -> str:
    """Return a function with the module that it belongs to: `f+0x12/0x40 [m]` is `f [m]`."""
    name, module = function_name(symbol), symbol.partition(" [")[2].rstrip("]")
    return f"{name} [{module}]" if module else name


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


#: What no stack is named after, as long as it has another function.
_GENERIC = OF_THE_SCHEDULER | OF_UNLOCKING | OF_DISPATCH | OF_WAITING | OF_SYSTEM_CALLS


def place_in(stack: Sequence[str]) -> str:
    """Return the function that a stack is named after, with its module; "": it has none.

    It is the innermost that is neither a helper, nor a place to sleep, nor one that calls whatever
    it is given. Of a system call of which nothing else is left it is that: `poll()`. Frames beyond
    an interrupt, an exception or a softirq are not looked at.
    """
    for symbol in stack:
        name = function_name(symbol)
        if name in _BORDERS or name.startswith(_BORDER_ENTRIES):
            break
        if name in _GENERIC or name == "?" or is_of_tracing(name):
            continue
        return _system_call(name) or _with_sysrq(function_label(symbol), stack)
    return ""


def _system_call(name: str) -> str:
    """Return the system call that a function is: `poll()`; "": it is none."""
    match = _SYSTEM_CALL.fullmatch(name)
    # Other functions of the kernel begin with sys_, too.
    if match and (match[1] or is_system_call(match[2])):
        return f"{match[1] or match[2]}()"
    return ""


def _with_sysrq(label: str, stack: Sequence[str]) -> str:
    """Return a function with what it was called for, where that is a command by sysrq."""
    names = [function_name(symbol) for symbol in stack]
    if not any(name in _SYSRQ or name.startswith("sysrq_handle_") for name in names):
        return label
    return f"{label} of sysrq"


def innermost_function(stack: tuple[str, ...], helpers: frozenset[str]) -> str:
    """Return the innermost function of a stack that has a name and is none of the helpers."""
    names = [
        name
        for symbol in stack
        if (name := function_name(symbol)) != "?" and not is_of_tracing(symbol)
    ]
    return next((name for name in names if name not in helpers), names[0] if names else "")
