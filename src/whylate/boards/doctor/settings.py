"""Settings of kernel and memory that are known to spoil latency, the costliest first."""

from __future__ import annotations

from whylate.boards.doctor.check import Examined, Finding, Rules

KERNEL_AND_MEMORY = Rules("settings")


@KERNEL_AND_MEMORY(
    "preemption model",
    "PREEMPT_RT: otherwise spinlocked sections and interrupt handlers delay a wakeup",
    "a kernel with CONFIG_PREEMPT_RT=y",
)
def _preemption(board: Examined) -> Finding:
    model = board.text("preemption")
    if model is None:
        return board.unreadable("preemption", None)
    if model in {"rt", "full", "lazy"}:
        return Finding("good" if model == "rt" else "poor", model)
    how = (
        "a kernel with CONFIG_PREEMPT_RT=y; until then preempt=full, where the kernel is "
        "PREEMPT_DYNAMIC"
    )
    return Finding("poor", model, how)


@KERNEL_AND_MEMORY(
    "threaded interrupts",
    "on: a real-time thread can then preempt device handlers",
    "threadirqs on the kernel command line (CONFIG_IRQ_FORCED_THREADING=y)",
)
def _threaded_handlers(board: Examined) -> Finding:
    if board.text("preemption") == "rt":
        return Finding("good", "always, with PREEMPT_RT")
    threaded = board.flag("threadirqs")
    if threaded is None:
        return Finding("unknown", "command line not readable")
    return Finding("good", "threadirqs") if threaded else Finding("poor", "off")


@KERNEL_AND_MEMORY(
    "debug options",
    "none built in: they lengthen every lock or allocation",
    "a kernel without them",
)
def _debug_options(board: Examined) -> Finding:
    return _none_of(board.items("kernel_debug_options"), "configuration not readable")


@KERNEL_AND_MEMORY(
    "active tracing",
    "none: every event or traced function adds time",
    "echo nop > current_tracer and echo > set_event in /sys/kernel/tracing",
)
def _tracing(board: Examined) -> Finding:
    return _none_of(board.items("tracing_active"), "tracefs is not readable")


def _none_of(items: list[str] | None, unreadable: str) -> Finding:
    if items is None:
        return Finding("unknown", unreadable)
    return Finding("poor" if items else "good", ", ".join(items) or "none")


@KERNEL_AND_MEMORY(
    "printk console",
    "level 4 or less on a serial console: a line at 115200 baud takes some 7 ms",
    "dmesg -n 4, or quiet at boot",
)
def _console(board: Examined) -> Finding:
    level, consoles = board.number("printk_console_level"), board.items("consoles") or []
    if level is None:
        return board.unreadable("printk_console_level")
    # ttyS, ttyAMA, ttymxc, ttyPS, ...: tty and more than a number.
    serial = [c for c in consoles if c.startswith("tty") and not c.removeprefix("tty").isdigit()]
    now = f"level {level}, {'on ' + ', '.join(consoles) if consoles else 'no console listed'}"
    return Finding("poor" if serial and level > 4 else "good", now)


@KERNEL_AND_MEMORY(
    "RT throttling",
    "-1 only if real-time work may take over 95 %; else keep it, it saves a hung board",
    "sysctl kernel.sched_rt_runtime_us=950000",
)
def _throttling(board: Examined) -> Finding:
    runtime_us, period_us = board.number("rt_runtime_us"), board.number("rt_period_us")
    if runtime_us is None:
        return board.unreadable("rt_runtime_us")
    if runtime_us < 0:
        return Finding("good", "off (-1)")
    if not period_us or period_us < 0:
        return board.unreadable("rt_period_us")
    share = runtime_us / period_us
    now = f"{runtime_us} of {period_us} µs ({100 * share:.0f} %)"
    return Finding("good" if share >= 0.95 else "poor", now)


@KERNEL_AND_MEMORY(
    "lockup watchdogs",
    "off for the last µs: they run above every thread each few seconds",
    "sysctl kernel.watchdog=0 (keep it while you hunt for hangs)",
)
def _watchdogs(board: Examined) -> Finding:
    names = ("nmi_watchdog", "soft_watchdog")
    values = {name: board.number(name) for name in names}
    if all(value is None for value in values.values()):
        if any(name in board.facts for name in names):
            return board.unreadable("soft_watchdog", None)
        return Finding("good", "not built in")
    enabled = board.number("watchdog") != 0
    on = [name.partition("_")[0] for name, value in values.items() if value and enabled]
    return Finding("poor", f"on: {', '.join(on)}") if on else Finding("good", "off")


@KERNEL_AND_MEMORY(
    "transparent huge pages",
    "madvise or never: khugepaged moves pages under running threads",
    "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
)
def _huge_pages(board: Examined) -> Finding:
    mode = board.text("transparent_hugepage")
    if mode is None:
        return _not_built_in(board, "transparent_hugepage")
    return Finding("poor" if mode == "always" else "good", mode)


@KERNEL_AND_MEMORY(
    "NUMA balancing",
    "off: it unmaps pages to see who touches them",
    "sysctl kernel.numa_balancing=0",
)
def _numa_balancing(board: Examined) -> Finding:
    value = board.number("numa_balancing")
    if value is None:
        return _not_built_in(board, "numa_balancing")
    if value and len(board.items("numa_nodes") or []) == 1:
        return Finding("good", "on, without effect on one node")
    return Finding("poor", "on") if value else Finding("good", "off")


@KERNEL_AND_MEMORY(
    "same-page merging (KSM)",
    "off: it scans memory, and a write to a merged page faults",
    "echo 2 > /sys/kernel/mm/ksm/run (2 also unmerges)",
)
def _page_merging(board: Examined) -> Finding:
    value = board.number("ksm")
    if value is None:
        return _not_built_in(board, "ksm")
    return Finding("poor", "on") if value == 1 else Finding("good", "off")


def _not_built_in(board: Examined, fact: str) -> Finding:
    if fact in board.facts:
        return board.unreadable(fact, None)
    return Finding("good", "not built in")


@KERNEL_AND_MEMORY(
    "swap",
    "none, or all memory of the real-time program locked: a page in takes ms",
    "swapoff -a",
)
def _swap(board: Examined) -> Finding:
    areas = board.items("swap_areas")
    return board.unreadable("swap_areas") if areas is None else _none_of(areas, "")


@KERNEL_AND_MEMORY(
    "CPU mitigations",
    "as your threats demand: each kernel entry pays for them, some 0.1 to 2 µs",
    "mitigations=off, only where every program on the board is trusted",
)
def _mitigations(board: Examined) -> Finding:
    lines = board.items("mitigations")
    if lines is None:
        return Finding("unknown", "not listed by this kernel", "")
    active = [line.partition(":")[0] for line in lines if ": Mitigation" in line]
    if not active:
        return Finding("good", "none at work")
    # Not poor: whether to give up protection is not for a latency tool to decide.
    return Finding("unknown", f"at work: {', '.join(active)}")
