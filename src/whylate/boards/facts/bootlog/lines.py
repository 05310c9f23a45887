"""What a boot log's lines report: the kernel and its machine, the processors, the clocks.

Lines: Linux, init/main.c, mm/mm_init.c, mm/hugetlb.c, kernel/smp.c and their like under arch/;
arch/arm64/kernel/cpufeature.c, arch/arm64/mm/context.c, drivers/irqchip/irq-gic*.c,
drivers/perf/arm_pmu.c, arch/x86/events/core.c; kernel/time/clocksource.c,
kernel/time/sched_clock.c, arch/x86/kernel/tsc.c, drivers/char/hpet.c,
drivers/clocksource/arm_arch_timer.c; older kernels print some of them without the prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from whylate.boards.facts import cmdline
from whylate.boards.facts.bootlog.log import BootLog, Derived, EveryLine, FirstLine, LogLine, Row
from whylate.recording.manifest import Fact
from whylate.text import clean

_VERSION = re.compile(r"Linux version (\S{1,100}) (?:\([^)]{0,200}\) )?(.{0,1000})")
_COMPILER = re.compile(r"\(?((?:gcc|clang|[\w-]{1,60}-gcc)\b[^,#]{0,160})")
_PREEMPTION = re.compile(r"#\d{1,9} .{0,40}?\bPREEMPT(_RT|_DYNAMIC|_LAZY| RT)?\b")
_COMMAND_LINE = re.compile(r"Kernel command line: (.*)", re.DOTALL)
_X86_COMMAND_LINE = re.compile(r"Command line: (.*)", re.DOTALL)
_MACHINE = re.compile(r"(?:OF: fdt: |OF: fdt:)?Machine(?: model)?: (.{1,120})")
_DMI = re.compile(r"DMI: (.{1,160})")
_MEMORY = re.compile(
    r"Memory: (\d{1,15})[Kk]B?/(\d{1,15})[Kk]B? available(?:, (\d{1,15})[Kk] reserved)?"
)
#: The banks and their sum, as ARM and its like print them before 3.11, above the line of the free.
_MEMORY_TOTAL = re.compile(r"Memory:(?: \d{1,9}MB)+ = (\d{1,9})MB total")
_CPUS = re.compile(
    r"(?:smp: |SMP: |x86: )?(?:Brought up|Booted up)(?: (\d{1,6}) nodes?,)? (\d{1,6}) CPUs?"
)
_HUGE = re.compile(
    r"HugeTLB:? registered (\d{1,9}(?:\.\d{1,3})? [KMGT]iB) page size, pre-allocated (\d{1,9})"
)


def _kernel(log: BootLog) -> Iterator[Fact]:
    if (first := log.first(_VERSION)) is None:
        return
    match, line = first
    yield log.fact("boot_kernel", match[1], line)
    if (compiler := _COMPILER.search(match[2])) is not None:
        yield log.fact("boot_kernel_compiler", compiler[1].rstrip(") "), line)
    # The banner names no model where the kernel is built to preempt little, or not at all.
    model = "not named: none or voluntary"
    if (preemption := _PREEMPTION.search(match[2])) is not None:
        model = f"PREEMPT{preemption[1] or ''}".replace(" ", "_")
    yield log.fact("boot_kernel_preemption", model, line)


def _machine(log: BootLog) -> Iterator[Fact]:
    if (first := log.first(_MACHINE) or log.first(_DMI)) is not None:
        yield log.fact("boot_machine", first[0][1], first[1])


def _command_line(log: BootLog) -> Iterator[Fact]:
    """Its source is only the line's beginning: the rest may hold secrets."""
    for pattern in (_COMMAND_LINE, _X86_COMMAND_LINE):
        if (first := log.first(pattern)) is None:
            continue
        match, line = first
        parts = [match[1]]
        # Newer kernels break a long one, and end all its pieces but the last with a backslash.
        following = iter(log.lines[log.lines.index(line) + 1 :])
        while parts[-1].endswith("\\") and (next_line := next(following, None)) is not None:
            again = pattern.match(next_line.text)
            parts[-1] = parts[-1].removesuffix("\\")
            parts.append(again[1] if again is not None else "")
        words = cmdline.parameters(clean(" ".join(parts), 16384))
        shown = LogLine(line.time_s, line.text.partition(":")[0] + ": …")
        yield log.fact("boot_command_line", words, shown, limit=256)
        return


def _memory(log: BootLog) -> Iterator[Fact]:
    """Both numbers of ARM before 3.11 are of free pages: what is reserved is beside them."""
    if (first := log.first(_MEMORY)) is None:
        return
    match, line = first
    yield log.fact("boot_memory_available_bytes", int(match[1]) * 1024, line)
    banks = log.first(_MEMORY_TOTAL)
    if match[3] is None:
        yield log.fact("boot_memory_total_bytes", int(match[2]) * 1024, line)
    elif banks is None:
        yield log.fact("boot_memory_total_bytes", (int(match[2]) + int(match[3])) * 1024, line)
    else:
        yield log.fact("boot_memory_total_bytes", int(banks[0][1]) << 20, banks[1])


SYSTEM: tuple[Row, ...] = (
    Derived(_kernel),
    Derived(_machine),
    Derived(_command_line),
    Derived(_memory),
    EveryLine(
        "boot_huge_page_sizes", _HUGE, 2, lambda _, match: f"{match[1]}, {match[2]} allocated"
    ),
    FirstLine(_CPUS, (("boot_cpus", 2, int), ("boot_numa_nodes", 1, int))),
)


_DETECTED = re.compile(r"CPU features: (?:detected|emulated): (.{1,200})")
_SPECTRE_32 = re.compile(r"CPU\d{1,6}: (Spectre .{1,120} workaround)")
_ALTERNATIVES = re.compile(r"alternatives: (.{1,120})")
_ASIDS = re.compile(r"ASID allocator initialised with (\d{1,9}) entries")
_GIC = re.compile(r"(GICv[2-5]|GIC)(m?):? ?(.{1,160})")
_ARM_PMU = re.compile(
    r"hw perfevents: enabled with ([\w.-]{1,64}) PMU driver, (\d{1,4})(?: \([^)]{1,40}\))?"
    r" counters available"
)
_ARM_PMU_TROUBLE = re.compile(
    r"(?:[\w.@-]{1,64} [\w.@-]{1,64}: )?hw perfevents: ((?:no|failed|unable|could not).{1,160})",
    re.IGNORECASE,
)
_X86_PMU = re.compile(r"Performance Events: (.{1,200})")
_X86_COUNTERS = re.compile(r"\.\.\. generic (?:registers|counters|bitmap): {1,20}(\d{1,4})\b")
_FREQUENCY = re.compile(
    r"(?:intel_pstate|amd[_-]pstate|cpufreq[\w-]{0,32}|acpi[_-]cpufreq|cppc_cpufreq|powernow-k8"
    r"|[\w-]{1,32}[-_]cpufreq(?: [\w.-]{1,40})?|cpu cpu\d{1,6}): .{1,160}"
)
_IDLE = re.compile(r"cpuidle: using governor ([\w-]{1,32})")
_SOC = re.compile(r"CPU identified as (.{1,80})")
_POLICY = re.compile(r"Memory policy: (.{1,80})")

#: A word that marks a weakness of the hardware, as opposed to a feature.
_WEAKNESS = re.compile(r"errat(?:um|a)\b|spectre|meltdown|workaround|\bSSB|\bKPTI\b", re.IGNORECASE)

#: ASIDs have 8 or 16 bits; with the kernel unmapped in user space a process uses two.
_ASID_BITS = {1 << 16: 16, 1 << 15: 16, 1 << 8: 8, 1 << 7: 8}


def _features(log: BootLog) -> Iterator[Fact]:
    detected = [(match[1], line) for match, line in log.all(_DETECTED)]
    weak = [(name, line) for name, line in detected if _WEAKNESS.search(name)]
    weak += [(match[1], line) for match, line in log.all(_SPECTRE_32)]
    able = [(name, line) for name, line in detected if not _WEAKNESS.search(name)]
    for fact, matches, sources in (
        ("cpu_errata_detected", weak, 3),
        ("cpu_features_detected", able, 1),
    ):
        if matches:
            names = list(dict.fromkeys(name for name, _ in matches))
            yield log.fact(fact, names, *(line for _, line in matches[:sources]))


def _address_spaces(log: BootLog) -> Iterator[Fact]:
    if (first := log.first(_ASIDS)) is not None:
        entries = int(first[0][1])
        bits = _ASID_BITS.get(entries)
        yield log.fact("asid_entries", entries, first[1])
        note = "" if bits is not None else "no known number of bits has that many"
        yield log.fact("asid_bits", bits, first[1], note=note)


def _gic(log: BootLog) -> Iterator[Fact]:
    matches = list(log.all(_GIC))
    # A line that names the version has more information than one that does not.
    for match, line in sorted(matches, key=lambda m: m[0][1] == "GIC")[:1]:
        text = f"{match[1]}, version not said" if match[1] == "GIC" else match[1]
        yield log.fact("gic", text, line)


def _counters(log: BootLog) -> Iterator[Fact]:
    if (first := log.first(_ARM_PMU)) is not None:
        match, line = first
        yield log.fact("pmu_driver", match[1], line)
        yield log.fact("pmu_counters", int(match[2]), line)
    elif (first := log.first(_X86_PMU)) is not None:
        yield log.fact("pmu_driver", first[0][1], first[1])
        if (first := log.first(_X86_COUNTERS)) is not None:
            yield log.fact("pmu_counters", int(first[0][1]), first[1])


PROCESSOR: tuple[Row, ...] = (
    Derived(_features),
    EveryLine("alternatives", _ALTERNATIVES, unique=True),
    FirstLine(_SOC, (("soc", 1, str),)),
    Derived(_address_spaces),
    FirstLine(_POLICY, (("memory_policy", 1, str),)),
    Derived(_gic),
    Derived(_counters),
    EveryLine("pmu_trouble", _ARM_PMU_TROUBLE),
    EveryLine(
        "cpu_frequency_drivers_said", _FREQUENCY, text=lambda line, _: line.text, unique=True
    ),
    EveryLine("idle_governors_registered", _IDLE, 3),
)


_SWITCH = re.compile(r"(?:clocksource: )?Switch(?:ed|ing) to clocksource ([\w.:-]{1,32})")
_SOURCE = re.compile(
    r"clocksource: ([\w.:-]{1,32}): mask: 0x([0-9a-f]{1,16})\b(?:.*max_idle_ns: (\d{1,20}) ns)?"
)
_SCHED_CLOCK = re.compile(r"sched_clock: (\d{1,3}) bits at .{1,20}, resolution (\d{1,18})ns")
_WATCHDOG = re.compile(
    r"clocksource: (?:(?:timekeeping|wd-tsc-wd|Long readout|Checking clocksource|Override).*)"
)
_TSC_HOW = re.compile(
    r"(?:tsc: )?(Fast TSC calibration (?:using PIT|failed)|Unable to calibrate against PIT"
    r"|using (?:\w{1,16}) reference calibration|PIT calibration matches \w{1,16}"
    r"|PIT calibration deviates from \w{1,16}|using PIT calibration value"
    r"|HPET/PMTIMER calibration failed)"
)
_TSC_DETECTED = re.compile(r"(?:tsc: )?Detected (\d{1,9}\.\d{1,6}) MHz (?:processor|TSC)")
_TSC_REFINED = re.compile(
    r"(?:tsc: )?Refined TSC clocksource calibration: (\d{1,9}\.\d{1,6}) MHz",
)
_TSC_UNSTABLE = re.compile(
    r"(?:tsc: )?Marking TSC unstable due to (.{1,120})"
    r"|clocksource: timekeeping watchdog on CPU\d{1,6}: Marking clocksource 'tsc(?:-early)?' as"
    r" (unstable because .{1,120})"
    r"|(?:Clocksource|clocksource:) tsc (unstable .{1,120})"
)
_HPET = re.compile(r"hpet\d{1,3}: (\d{1,4}) comparators, (\d{1,4})-bit (\d{1,9}\.\d{1,9}) MHz")
_ARCH_TIMER = re.compile(
    r"(?:arch_timer: |Architected )(cp15|mmio|cp15 and mmio) timer(?:\(s\))? running at"
    r" (\d{1,9}\.\d{1,6})MHz \(([\w/]{1,20})\)"
)


def _calibration_window(log: BootLog) -> Iterator[Fact]:
    """How long another clock source was used until the TSC was calibrated.

    In that time all CPUs read the substitute, which may be the only HPET.
    """
    switches = [(match[1], line) for match, line in log.all(_SWITCH)]
    for (substitute, start), (name, end) in pairwise(switches):
        if name == "tsc" and start.time_s is not None and end.time_s is not None:
            seconds = round(end.time_s - start.time_s, 6)
            yield log.fact("tsc_calibration_window_s", seconds, start, end)
            yield log.fact("tsc_calibration_stand_in", substitute, start, end)
            return


def _registered(log: BootLog) -> Iterator[Fact]:
    sources = {match[1]: (match, line) for match, line in reversed(list(log.all(_SOURCE)))}
    if not sources:
        return
    texts = []
    for match, _ in reversed(sources.values()):
        text = f"{match[1]}: {int(match[2], 16).bit_length()} bits"
        idle = "" if match[3] is None else f", idle at most {int(match[3]) / 1e9:.1f} s"
        texts.append(text + idle)
    lines = [line for _, line in reversed(sources.values())]
    yield log.fact("clock_sources_registered", texts, *lines[:4])


def _unstable(log: BootLog) -> Iterator[Fact]:
    if (first := log.first(_TSC_UNSTABLE)) is not None:
        match, line = first
        reason = next(group for group in match.groups() if group is not None)
        yield log.fact("tsc_unstable", f"{reason}{line.at}", line)


def _arch_timer(log: BootLog) -> Iterator[Fact]:
    if (first := log.first(_ARCH_TIMER)) is not None:
        match, line = first
        yield log.fact("arch_timer_mhz", float(match[2]), line)
        yield log.fact("arch_timer", f"{match[1]}, {match[3]}", line)


CLOCKS: tuple[Row, ...] = (
    EveryLine("clock_source_switches", _SWITCH, 4, lambda line, match: f"{match[1]}{line.at}"),
    Derived(_calibration_window),
    Derived(_registered),
    FirstLine(_SCHED_CLOCK, (("sched_clock_bits", 1, int), ("sched_clock_resolution_ns", 2, int))),
    EveryLine(
        "clock_source_watchdog",
        _WATCHDOG,
        text=lambda line, _: f"{line.text.removeprefix('clocksource: ')}{line.at}",
    ),
    EveryLine("tsc_calibration", _TSC_HOW),
    FirstLine(_TSC_DETECTED, (("tsc_detected_mhz", 1, float),)),
    FirstLine(_TSC_REFINED, (("tsc_refined_mhz", 1, float),)),
    Derived(_unstable),
    FirstLine(_HPET, (("hpet_mhz", 3, float), ("hpet_bits", 2, int), ("hpet_comparators", 1, int))),
    Derived(_arch_timer),
)
