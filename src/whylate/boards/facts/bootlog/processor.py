"""What the kernel found in the processors while it booted: errata, ASIDs, counters, frequency.

Lines: Linux, arch/arm64/kernel/cpufeature.c, arch/arm64/mm/context.c, drivers/irqchip/irq-gic*.c,
drivers/perf/arm_pmu.c, arch/x86/events/core.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whylate.boards.facts.bootlog.log import BootLog, Derived, EveryLine, FirstLine, Row
from whylate.recording.manifest import Fact

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
