"""What the kernel found in the processors while it booted: errata, ASIDs, counters, frequency.

Lines: Linux, arch/arm64/kernel/cpufeature.c, arch/arm64/mm/context.c, drivers/irqchip/irq-gic*.c,
drivers/perf/arm_pmu.c, arch/x86/events/core.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from whylate.boards.facts.bootlog.log import BootLog
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

#: A word of a weakness of the hardware, as opposed to a feature of it.
_WEAKNESS = re.compile(r"errat(?:um|a)\b|spectre|meltdown|workaround|\bSSB|\bKPTI\b", re.IGNORECASE)

#: ASIDs have 8 or 16 bits; with the kernel unmapped in user space a process takes two.
_ASID_BITS = {1 << 16: 16, 1 << 15: 16, 1 << 8: 8, 1 << 7: 8}


def boot_processor_facts(log: BootLog) -> list[Fact]:
    """Errata and features found, ASIDs, interrupt controller, counters, frequency drivers."""
    return [
        *_features(log),
        *_address_spaces(log),
        *_gic(log),
        *_counters(log),
        *_power(log),
    ]


def _features(log: BootLog) -> Iterator[Fact]:
    detected = list(log.all(_DETECTED))
    weak = [(match[1], line) for match, line in detected if _WEAKNESS.search(match[1])]
    weak += [(match[1], line) for match, line in log.all(_SPECTRE_32)]
    if weak:
        names = list(dict.fromkeys(name for name, _ in weak))
        yield log.fact("cpu_errata_detected", names, *(line for _, line in weak[:3]))
    able = [(match[1], line) for match, line in detected if not _WEAKNESS.search(match[1])]
    if able:
        names = list(dict.fromkeys(name for name, _ in able))
        yield log.fact("cpu_features_detected", names, able[0][1])
    patched = list(log.all(_ALTERNATIVES))
    if patched:
        texts = list(dict.fromkeys(match[1] for match, _ in patched))
        yield log.fact("alternatives", texts, patched[0][1])
    if (found := log.first(_SOC)) is not None:
        yield log.fact("soc", found[0][1], found[1])


def _address_spaces(log: BootLog) -> Iterator[Fact]:
    if (found := log.first(_ASIDS)) is not None:
        entries = int(found[0][1])
        bits = _ASID_BITS.get(entries)
        yield log.fact("asid_entries", entries, found[1])
        why = "" if bits is not None else "no known number of bits has so many"
        yield log.fact("asid_bits", bits, found[1], note=why)
    if (found := log.first(_POLICY)) is not None:
        yield log.fact("memory_policy", found[0][1], found[1])


def _gic(log: BootLog) -> Iterator[Fact]:
    found = list(log.all(_GIC))
    # A line that names the version says more than one that does not.
    named = next((one for one in found if one[0][1] != "GIC"), next(iter(found), None))
    if named is not None:
        match, line = named
        text = f"{match[1]}, version not said" if match[1] == "GIC" else match[1]
        yield log.fact("gic", text, line)


def _counters(log: BootLog) -> Iterator[Fact]:
    if (found := log.first(_ARM_PMU)) is not None:
        match, line = found
        yield log.fact("pmu_driver", match[1], line)
        yield log.fact("pmu_counters", int(match[2]), line)
    elif (found := log.first(_X86_PMU)) is not None:
        yield log.fact("pmu_driver", found[0][1], found[1])
        if (found := log.first(_X86_COUNTERS)) is not None:
            yield log.fact("pmu_counters", int(found[0][1]), found[1])
    trouble = list(log.all(_ARM_PMU_TROUBLE))
    if trouble:
        yield log.fact("pmu_trouble", [match[1] for match, _ in trouble], trouble[0][1])


def _power(log: BootLog) -> Iterator[Fact]:
    said = list(dict.fromkeys(line.text for _, line in log.all(_FREQUENCY)))
    if said:
        first = log.first(_FREQUENCY)
        yield log.fact("cpu_frequency_drivers_said", said, *([first[1]] if first else []))
    governors = list(log.all(_IDLE))
    if governors:
        names = [match[1] for match, _ in governors]
        yield log.fact("idle_governors_registered", names, *(line for _, line in governors[:3]))
