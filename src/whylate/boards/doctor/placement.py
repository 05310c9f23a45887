"""Settings of the processors that are known to spoil latency: clocks, sleep, who runs where."""

from __future__ import annotations

import re

from whylate.boards.doctor.check import Check, Known, State, check
from whylate.boards.facts import counters, interrupts, power, tasks
from whylate.boards.facts.reading import Files, cpu_list, cpu_ranges
from whylate.boards.facts.topology import cpus_now

#: An idle state that takes longer to leave than this shows in a wakeup's tail.
EXIT_LIMIT_US = 10
#: A clock that takes longer to read than this is a device behind a bus.
CLOCK_READ_LIMIT_NS = 300

_FAST_CLOCKS = frozenset({"tsc", "arch_sys_counter", "riscv_clocksource", "timebase", "tod"})
_SLOW_CLOCKS = frozenset({"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"})
_GUEST_CLOCK = re.compile(r"kvm-clock|xen|hyperv_clocksource.*")
#: The kernel's own threads above all others; they are there on every board.
_KERNEL_THREADS = re.compile(r"(migration|watchdog|idle_inject|cpuhp|posixcputmr|stopper)/\d+")


def placement_checks(files: Files, known: Known) -> list[Check]:
    """Return frequency, idle, clock, isolation, interrupts, rivals, and what lies underneath."""
    return [
        _governor(known),
        _idle_states(files, known),
        _clock_source(known),
        _isolation(files),
        _full_dynticks(files),
        _interrupt_places(files),
        _timer_migration(files, known),
        _threads_per_core(known),
        _rivals(files),
        *_management_interrupts(files, known),
        _host(files, known),
    ]


def _governor(known: Known) -> Check:
    name, wanted = "frequency governor", "performance: a CPU at rest wakes up slow"
    how = "cpupower frequency-set -g performance"
    governors = known.items("governor")
    if governors is None:
        now = known.why_not("governor")
        if not known.is_there("governor"):
            guest = known.text("hypervisor") is not None
            now = "no cpufreq here; the host decides" if guest else "no cpufreq: fixed, or hidden"
        return check("settings", name, "unknown", now, wanted)
    lowest, highest = known.items("frequency_min_khz"), known.items("frequency_max_khz")
    fixed = lowest is not None and lowest == highest
    fast = all(g.rpartition(": ")[2] == "performance" for g in governors)
    now = ", ".join(governors) + (", but held at one frequency" if fixed and not fast else "")
    state: State = "good" if fast or fixed else "poor"
    return check("settings", name, state, now, wanted, how=how)


def _idle_states(files: Files, known: Known) -> Check:
    name = "idle states"
    wanted = f"none enabled above {EXIT_LIMIT_US} µs: leaving one is part of a wakeup"
    how = "the application holds /dev/cpu_dma_latency at 0, as whylate does in a run"
    states = power.idle_states(files)
    if not states:
        guest = known.text("hypervisor") is not None
        now = "no cpuidle here" + ("; the host decides how an idle CPU sleeps" if guest else "")
        return check("settings", name, "unknown" if guest else "good", now, wanted)
    enabled = [s for s in states if not s.disabled and s.exit_us is not None]
    if not enabled:
        return check("settings", name, "good", "all disabled", wanted)
    deepest = max(enabled, key=lambda s: s.exit_us or 0)
    state: State = "poor" if (deepest.exit_us or 0) > EXIT_LIMIT_US else "good"
    now = f"deepest enabled: {deepest.name}, {deepest.exit_us} µs to leave"
    if known.text("idle_driver") == "haltpoll" and state == "good":
        now += " (a halt goes to the host)"
    return check("settings", name, state, now, wanted, how=how)


def _clock_source(known: Known) -> Check:
    name, wanted = "clock source", "the CPU's own counter: others are read over a bus"
    source, read_ns = known.text("clock_source"), known.number("clock_read_ns")
    if source is None:
        return check("settings", name, "unknown", known.why_not("clock_source"), wanted)
    now = source + ("" if read_ns is None else f", {read_ns} ns a reading")
    how = "see why the kernel gave it up: dmesg | grep -i clocksource"
    if source in _SLOW_CLOCKS or (read_ns is not None and read_ns > CLOCK_READ_LIMIT_NS):
        return check("settings", name, "poor", now, wanted, how=how)
    if source in _FAST_CLOCKS or _GUEST_CLOCK.fullmatch(source) or read_ns is not None:
        return check("settings", name, "good", now, wanted)
    return check("settings", name, "unknown", now, wanted)


def _isolation(files: Files) -> Check:
    name = "isolated CPUs"
    wanted = "one for the real-time work, where CPUs can be spared: others stay off it"
    how = "isolcpus=domain,managed_irq,N at boot, or an isolated cpuset partition"
    isolated, online = cpus_now(files, "isolated"), cpus_now(files, "online")
    if isolated is None:
        return check("settings", name, "unknown", "not readable", wanted, how=how)
    if isolated:
        return check("settings", name, "good", f"cpu {cpu_ranges(isolated)}", wanted)
    if online is not None and len(online) == 1:
        return check("settings", name, "good", "there is but one CPU", wanted)
    return check("settings", name, "poor", "none", wanted, how=how)


def _full_dynticks(files: Files) -> Check:
    # Never poor: it helps threads that never sleep and makes each system call dearer.
    wanted = "only for threads that spin: it makes every system call dearer"
    cpus = cpus_now(files, "nohz_full")
    now = f"cpu {cpu_ranges(cpus)}" if cpus else "none"
    return check("settings", "nohz_full", "good", now, wanted)


def _interrupt_places(files: Files) -> Check:
    name = "interrupt affinity"
    wanted = "device interrupts away from the CPUs of the real-time work"
    how = "write the other CPUs to /proc/irq/N/smp_affinity_list; irqbalance may undo it"
    placed = interrupts.placements(files)
    if not placed:
        return check("settings", name, "unknown", "no affinity is readable", wanted, how=how)
    isolated = set(cpus_now(files, "isolated") or [])
    # Numbers without a handler cannot disturb anyone.
    used = {row.label for row in interrupts.rows(files)}
    served = {irq: cpus for irq, cpus in placed.items() if str(irq) in used}
    if not isolated:
        now = f"{len(served)} device interrupts; no CPU is isolated from them"
        return check("settings", name, "unknown", now, wanted, how=how)
    on = [irq for irq, cpus in served.items() if isolated & set(cpu_list(cpus) or [])]
    where = f"of {len(served)} reach isolated CPUs"
    if on:
        return check("settings", name, "poor", f"{len(on)} {where}", wanted, how=how)
    return check("settings", name, "good", f"none {where}", wanted)


def _timer_migration(files: Files, known: Known) -> Check:
    name = "timer migration"
    wanted = "0 with nohz_full: there a thread's timer fires on another CPU"
    how = "sysctl kernel.timer_migration=0"
    value = known.number("timer_migration")
    if value is None:
        return check("settings", name, "unknown", known.why_not("timer_migration"), wanted)
    tickless = bool(cpus_now(files, "nohz_full"))
    state: State = "poor" if value and tickless else "good"
    now = "off" if not value else "on, with nohz_full" if tickless else "on, without nohz_full"
    return check("settings", name, state, now, wanted, how=how)


def _threads_per_core(known: Known) -> Check:
    name, wanted = "SMT", "off, or the sibling left idle: it shares the core's pipeline and caches"
    how = "echo off > /sys/devices/system/cpu/smt/control"
    groups = known.items("smt_siblings")
    if groups is None:
        return check("settings", name, "unknown", "no topology is readable", wanted, how=how)
    if groups:
        return check("settings", name, "poor", f"siblings {'; '.join(groups)}", wanted, how=how)
    guest = known.text("hypervisor") is not None
    # A guest's topology is what its host made up.
    now = "none shown, but a guest cannot tell" if guest else "off, or not there"
    return check("settings", name, "unknown" if guest else "good", now, wanted)


def _rivals(files: Files) -> Check:
    name, wanted = "other urgent threads", "none above the real-time work but the kernel's own"
    how = "chrt -p PID shows one; lower it with chrt, or keep it on other CPUs"
    if next(files.match(tasks.STATS), None) is None:
        return check("settings", name, "unknown", "no thread is readable", wanted, how=how)
    found = [
        tasks.described(task)
        for task in tasks.realtime_tasks(files)
        if (task.policy == "deadline" or task.priority >= 80)
        and not _KERNEL_THREADS.fullmatch(task.name)
    ]
    state: State = "poor" if found else "good"
    return check("settings", name, state, ", ".join(found) or "none from 80 up", wanted, how=how)


def _management_interrupts(files: Files, known: Known) -> list[Check]:
    counts = [c.value for (n, _), c in counters.counters(files).items() if n == "smi"]
    if not counts or known.text("hypervisor") is not None:
        return []
    name = "SMIs"
    wanted = "none during a run: the firmware stops all CPUs, often for 100 µs and more"
    how = "firmware settings (legacy USB, fan and power control), or newer firmware"
    # The count is since power-on, and booting takes some: only a run tells whether they go on.
    state: State = "unknown" if any(counts) else "good"
    return [check("settings", name, state, f"{max(counts)} since power-on", wanted, how=how)]


def _host(files: Files, known: Known) -> Check:
    name = "hypervisor"
    wanted = "none, or CPUs dedicated by the host: it takes them away for ms at a time"
    how = "pin the guest's CPUs one to one and keep the host off them"
    guest_of = known.text("hypervisor")
    if guest_of is None:
        return check("settings", name, "good", "no sign of one", wanted)
    stolen = [c for (n, _), c in counters.counters(files).items() if n == "steal"]
    total_s = sum(c.value / c.per_unit for c in stolen)
    now = f"{guest_of}; {total_s:.2f} s of CPU time stolen since boot"
    return check("settings", name, "poor", now, wanted, how=how)
