"""Settings of the processors that are known to spoil latency: clocks, idle, placement, host."""

from __future__ import annotations

import re

from whylate.boards.doctor.check import Examined, Finding, Rules
from whylate.boards.facts import counters, interrupts, power, tasks
from whylate.boards.facts.cpu import read_cpus
from whylate.boards.facts.reading import cpu_list, cpu_ranges

#: An idle state that takes longer to leave than this shows in a wakeup's tail.
EXIT_LIMIT_US = 10
#: A clock that takes longer to read than this is a device behind a bus.
CLOCK_READ_LIMIT_NS = 300
#: Threads from this priority on are reported.
HIGH_PRIORITY = 80

_FAST_CLOCKS = frozenset({"tsc", "arch_sys_counter", "riscv_clocksource", "timebase", "tod"})
_SLOW_CLOCKS = frozenset({"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"})
_GUEST_CLOCK = re.compile(r"kvm-clock|xen|hyperv_clocksource.*")
#: The kernel's own threads above all others; they exist on every board.
_KERNEL_THREADS = re.compile(r"(migration|watchdog|idle_inject|cpuhp|posixcputmr|stopper)/\d+")

PROCESSORS = Rules("settings")


@PROCESSORS(
    "frequency governor",
    "performance: a CPU at rest wakes up slow",
    "cpupower frequency-set -g performance",
)
def _governor(board: Examined) -> Finding:
    governors = board.items("governor")
    if governors is None:
        if "governor" in board.facts:
            return board.unreadable("governor")
        guest = "no cpufreq here; the host decides"
        return Finding("unknown", guest if board.is_guest else "no cpufreq: fixed, or hidden", "")
    lowest, highest = board.items("frequency_min_khz"), board.items("frequency_max_khz")
    fixed = lowest is not None and lowest == highest
    fast = all(g.rpartition(": ")[2] == "performance" for g in governors)
    now = ", ".join(governors) + (", but held at one frequency" if fixed and not fast else "")
    return Finding("good" if fast or fixed else "poor", now)


@PROCESSORS(
    "idle states",
    f"none enabled above {EXIT_LIMIT_US} µs: leaving one is part of a wakeup",
    "the application holds /dev/cpu_dma_latency at 0, as whylate does in a run",
)
def _idle_states(board: Examined) -> Finding:
    states = power.read_idle_states(board.files)
    if not states and board.is_guest:
        now = "no cpuidle here; the host decides how an idle CPU sleeps"
        return Finding("unknown", now, "")
    if not states:
        return Finding("good", "no cpuidle here")
    exits_us = [(s.exit_us, s.name) for s in states if not s.disabled and s.exit_us is not None]
    if not exits_us:
        return Finding("good", "all disabled")
    exit_us, name = max(exits_us, key=lambda state: state[0])
    now = f"deepest enabled: {name}, {exit_us} µs to leave"
    if exit_us > EXIT_LIMIT_US:
        return Finding("poor", now)
    halts = board.text("idle_driver") == "haltpoll"
    return Finding("good", now + (" (a halt goes to the host)" if halts else ""))


@PROCESSORS(
    "clock source",
    "the CPU's own counter: others are read over a bus",
    "see why the kernel gave it up: dmesg | grep -i clocksource",
)
def _clock_source(board: Examined) -> Finding:
    source, read_ns = board.text("clock_source"), board.number("clock_read_ns")
    if source is None:
        return board.unreadable("clock_source")
    now = source + ("" if read_ns is None else f", {read_ns} ns a reading")
    if source in _SLOW_CLOCKS or (read_ns is not None and read_ns > CLOCK_READ_LIMIT_NS):
        return Finding("poor", now)
    if source in _FAST_CLOCKS or _GUEST_CLOCK.fullmatch(source) or read_ns is not None:
        return Finding("good", now)
    return Finding("unknown", now, "")


@PROCESSORS(
    "isolated CPUs",
    "one for the real-time work, where CPUs can be spared: others stay off it",
    "isolcpus=domain,managed_irq,N at boot, or an isolated cpuset partition",
)
def _isolation(board: Examined) -> Finding:
    isolated, online = read_cpus(board.files, "isolated"), read_cpus(board.files, "online")
    if isolated is None:
        return Finding("unknown", "not readable")
    if isolated:
        return Finding("good", f"cpu {cpu_ranges(isolated)}")
    if online is not None and len(online) == 1:
        return Finding("good", "there is but one CPU")
    return Finding("poor", "none")


@PROCESSORS(
    "nohz_full",
    "only for threads that spin: it makes every system call slower",
    "",
)
def _full_dynticks(board: Examined) -> Finding:
    # Never poor: it helps threads that never sleep and slows each system call.
    cpus = read_cpus(board.files, "nohz_full")
    return Finding("good", f"cpu {cpu_ranges(cpus)}" if cpus else "none")


@PROCESSORS(
    "interrupt affinity",
    "device interrupts away from the CPUs of the real-time work",
    "write the other CPUs to /proc/irq/N/smp_affinity_list; irqbalance may undo it",
)
def _interrupt_affinity(board: Examined) -> Finding:
    affinities = interrupts.read_affinities(board.files)
    if not affinities:
        return Finding("unknown", "no affinity is readable")
    isolated = set(read_cpus(board.files, "isolated") or [])
    # Interrupts without a handler cause no latency.
    handled = {row.label for row in interrupts.read_rows(board.files)}
    served = {irq: cpus for irq, cpus in affinities.items() if str(irq) in handled}
    if not isolated:
        now = f"{len(served)} device interrupts; no CPU is isolated from them"
        return Finding("unknown", now)
    reaching = sum(bool(isolated & set(cpu_list(cpus) or [])) for cpus in served.values())
    now = f"{reaching or 'none'} of {len(served)} reach isolated CPUs"
    return Finding("poor" if reaching else "good", now)


@PROCESSORS(
    "timer migration",
    "0 with nohz_full: there a thread's timer fires on another CPU",
    "sysctl kernel.timer_migration=0",
)
def _timer_migration(board: Examined) -> Finding:
    value = board.number("timer_migration")
    if value is None:
        return board.unreadable("timer_migration")
    if not value:
        return Finding("good", "off")
    if read_cpus(board.files, "nohz_full"):
        return Finding("poor", "on, with nohz_full")
    return Finding("good", "on, without nohz_full")


@PROCESSORS(
    "SMT",
    "off, or the sibling left idle: it shares the core's pipeline and caches",
    "echo off > /sys/devices/system/cpu/smt/control",
)
def _smt(board: Examined) -> Finding:
    groups = board.items("smt_siblings")
    if groups is None:
        return Finding("unknown", "no topology is readable")
    if groups:
        return Finding("poor", f"siblings {'; '.join(groups)}")
    # A guest's topology is what its host made up.
    if board.is_guest:
        return Finding("unknown", "none shown, but a guest cannot tell", "")
    return Finding("good", "off, or not there")


@PROCESSORS(
    "other high-priority threads",
    "none above the real-time work but the kernel's own",
    "chrt -p PID shows one; lower it with chrt, or keep it on other CPUs",
)
def _high_priority_threads(board: Examined) -> Finding:
    if next(board.files.match(tasks.STATS), None) is None:
        return Finding("unknown", "no thread is readable")
    threads = [
        tasks.format_task(task)
        for task in tasks.read_realtime_tasks(board.files)
        if (task.policy == "deadline" or task.priority >= HIGH_PRIORITY)
        and not _KERNEL_THREADS.fullmatch(task.name)
    ]
    if threads:
        return Finding("poor", ", ".join(threads))
    return Finding("good", f"none from {HIGH_PRIORITY} up")


@PROCESSORS(
    "SMIs",
    "none during a run: the firmware stops all CPUs, often for 100 µs and more",
    "firmware settings (legacy USB, fan and power control), or newer firmware",
)
def _smis(board: Examined) -> Finding | None:
    readings = counters.read_counters(board.files)
    counts = [counter.value for (name, _), counter in readings.items() if name == "smi"]
    if not counts or board.is_guest:
        return None
    # The count is since power-on and includes the boot: only a run shows whether they go on.
    return Finding("unknown" if any(counts) else "good", f"{max(counts)} since power-on")


@PROCESSORS(
    "hypervisor",
    "none, or CPUs dedicated by the host: it takes them away for ms at a time",
    "pin the guest's CPUs one to one and keep the host off them",
)
def _host(board: Examined) -> Finding:
    hypervisor = board.text("hypervisor")
    if hypervisor is None:
        return Finding("good", "no sign of one")
    steal_s = counters.read_steal_s(board.files) or 0.0
    return Finding("poor", f"{hypervisor}; {steal_s:.2f} s of CPU time stolen since boot")
