"""Settings of kernel and memory that are known to spoil latency: now, wanted, and how."""

from __future__ import annotations

from whylate.boards.doctor.check import Check, Known, State, check


def setting_checks(known: Known) -> list[Check]:
    """Return the kernel's and memory's settings, the costliest first."""
    return [
        _preemption(known),
        _threaded_handlers(known),
        _debug_options(known),
        _tracing(known),
        _console(known),
        _throttling(known),
        _watchdogs(known),
        _huge_pages(known),
        *_page_scanners(known),
        _swap(known),
        _mitigations(known),
    ]


def _preemption(known: Known) -> Check:
    name = "preemption model"
    wanted = "PREEMPT_RT: else spinlocked sections and interrupt handlers hold a wakeup up"
    how = "a kernel with CONFIG_PREEMPT_RT=y"
    model = known.text("preemption")
    if model is None:
        return check("settings", name, "unknown", known.why_not("preemption"), wanted, how=how)
    if model not in {"rt", "full", "lazy"}:
        how += "; until then preempt=full, where the kernel is PREEMPT_DYNAMIC"
    return check("settings", name, "good" if model == "rt" else "poor", model, wanted, how=how)


def _threaded_handlers(known: Known) -> Check:
    name = "threaded interrupts"
    wanted = "on: a real-time thread can then preempt device handlers"
    if known.text("preemption") == "rt":
        return check("settings", name, "good", "always, with PREEMPT_RT", wanted)
    how = "threadirqs on the kernel command line (CONFIG_IRQ_FORCED_THREADING=y)"
    on = known.flag("threadirqs")
    if on is None:
        return check("settings", name, "unknown", "command line not readable", wanted, how=how)
    state: State = "good" if on else "poor"
    return check("settings", name, state, "threadirqs" if on else "off", wanted, how=how)


def _debug_options(known: Known) -> Check:
    name, wanted = "debug options", "none built in: they lengthen every lock or allocation"
    how = "a kernel without them"
    options = known.items("kernel_debug_options")
    if options is None:
        return check("settings", name, "unknown", "configuration not readable", wanted, how=how)
    state: State = "poor" if options else "good"
    return check("settings", name, state, ", ".join(options) or "none", wanted, how=how)


def _tracing(known: Known) -> Check:
    name, wanted = "active tracing", "none: every event or traced function adds time"
    how = "echo nop > current_tracer and echo > set_event in /sys/kernel/tracing"
    running = known.items("tracing_active")
    if running is None:
        return check("settings", name, "unknown", "tracefs is not readable", wanted, how=how)
    state: State = "poor" if running else "good"
    return check("settings", name, state, ", ".join(running) or "none", wanted, how=how)


def _console(known: Known) -> Check:
    name = "printk console"
    wanted = "level 4 or less on a serial console: a line at 115200 baud takes some 7 ms"
    level, consoles = known.number("printk_console_level"), known.items("consoles") or []
    if level is None:
        why = known.why_not("printk_console_level")
        return check("settings", name, "unknown", why, wanted)
    # ttyS, ttyAMA, ttymxc, ttyPS, ...: all that is tty with more than a number behind it.
    serial = [c for c in consoles if c.startswith("tty") and not c.removeprefix("tty").isdigit()]
    state: State = "poor" if serial and level > 4 else "good"
    now = f"level {level}, {'on ' + ', '.join(consoles) if consoles else 'no console listed'}"
    return check("settings", name, state, now, wanted, how="dmesg -n 4, or quiet at boot")


def _throttling(known: Known) -> Check:
    name = "RT throttling"
    wanted = "-1 only if real-time work may take over 95 %; else keep it, it saves a hung board"
    how = "sysctl kernel.sched_rt_runtime_us=950000"
    runtime_us, period_us = known.number("rt_runtime_us"), known.number("rt_period_us")
    if runtime_us is None:
        return check("settings", name, "unknown", known.why_not("rt_runtime_us"), wanted)
    if runtime_us < 0:
        return check("settings", name, "good", "off (-1)", wanted)
    if not period_us or period_us < 0:
        return check("settings", name, "unknown", known.why_not("rt_period_us"), wanted)
    share = runtime_us / period_us
    state: State = "good" if share >= 0.95 else "poor"
    now = f"{runtime_us} of {period_us} µs ({100 * share:.0f} %)"
    return check("settings", name, state, now, wanted, how=how)


def _watchdogs(known: Known) -> Check:
    name = "lockup watchdogs"
    wanted = "off for the last µs: they run above every thread each few seconds"
    how = "sysctl kernel.watchdog=0 (keep it while you hunt for hangs)"
    both = {n: known.number(n) for n in ("nmi_watchdog", "soft_watchdog")}
    found = {n: v for n, v in both.items() if v is not None}
    if not found:
        built = known.is_there("soft_watchdog") or known.is_there("nmi_watchdog")
        state: State = "unknown" if built else "good"
        now = known.why_not("soft_watchdog") if built else "not built in"
        return check("settings", name, state, now, wanted, how=how)
    master = known.number("watchdog")
    on = [n.partition("_")[0] for n, v in found.items() if v and master != 0]
    now = f"on: {', '.join(on)}" if on else "off"
    return check("settings", name, "poor" if on else "good", now, wanted, how=how)


def _huge_pages(known: Known) -> Check:
    name = "transparent huge pages"
    wanted = "madvise or never: khugepaged moves pages under running threads"
    how = "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
    mode = known.text("transparent_hugepage")
    if mode is None:
        state: State = "unknown" if known.is_there("transparent_hugepage") else "good"
        now = "not built in" if state == "good" else known.why_not("transparent_hugepage")
        return check("settings", name, state, now, wanted, how=how)
    return check("settings", name, "poor" if mode == "always" else "good", mode, wanted, how=how)


def _page_scanners(known: Known) -> list[Check]:
    nodes = known.items("numa_nodes") or []
    found = []
    for name, fact, wanted, how in (
        (
            "NUMA balancing",
            "numa_balancing",
            "off: it unmaps pages to see who touches them",
            "sysctl kernel.numa_balancing=0",
        ),
        (
            "same-page merging (KSM)",
            "ksm",
            "off: it scans memory, and a write to a merged page faults",
            "echo 2 > /sys/kernel/mm/ksm/run (2 also unmerges)",
        ),
    ):
        value = known.number(fact)
        if value is None:
            closed = known.is_there(fact)
            now = known.why_not(fact) if closed else "not built in"
            found.append(
                check("settings", name, "unknown" if closed else "good", now, wanted, how=how)
            )
            continue
        on = value != 0 if fact == "numa_balancing" else value == 1
        idle = on and fact == "numa_balancing" and len(nodes) == 1
        state: State = "poor" if on and not idle else "good"
        now = "on, without effect on one node" if idle else "on" if on else "off"
        found.append(check("settings", name, state, now, wanted, how=how))
    return found


def _swap(known: Known) -> Check:
    name = "swap"
    wanted = "none, or all memory of the real-time program locked: a page in takes ms"
    areas = known.items("swap_areas")
    if areas is None:
        return check("settings", name, "unknown", known.why_not("swap_areas"), wanted)
    state: State = "poor" if areas else "good"
    return check("settings", name, state, ", ".join(areas) or "none", wanted, how="swapoff -a")


def _mitigations(known: Known) -> Check:
    name = "CPU mitigations"
    wanted = "as your threats demand: each kernel entry pays for them, some 0.1 to 2 µs"
    how = "mitigations=off, only where every program on the board is trusted"
    listed = known.items("mitigations")
    if listed is None:
        return check("settings", name, "unknown", "not listed by this kernel", wanted)
    at_work = [line.partition(":")[0] for line in listed if ": Mitigation" in line]
    if not at_work:
        return check("settings", name, "good", "none at work", wanted)
    # Not poor: whether to give up protection is not for a latency tool to say.
    return check("settings", name, "unknown", f"at work: {', '.join(at_work)}", wanted, how=how)
