"""Clocks while the kernel boots: clock sources and when they took over, TSC, HPET, ARM timers.

Lines: Linux, kernel/time/clocksource.c, kernel/time/sched_clock.c, arch/x86/kernel/tsc.c,
drivers/char/hpet.c, drivers/clocksource/arm_arch_timer.c; older kernels say some of them without
the prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from whylate.boards.facts.bootlog.log import BootLog, LogLine
from whylate.recording.manifest import Fact

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


def boot_clock_facts(log: BootLog) -> list[Fact]:
    """Clock sources as they came and took over, the TSC's calibration, and the timers found."""
    return [*_switches(log), *_sources(log), *_tsc(log), *_timers(log)]


def _at(line: LogLine) -> str:
    return "" if line.time_s is None else f" at {line.time_s:.6f} s"


def _switches(log: BootLog) -> Iterator[Fact]:
    switches = [(match[1], line) for match, line in log.all(_SWITCH)]
    if not switches:
        return
    texts = [f"{name}{_at(line)}" for name, line in switches]
    yield log.fact("clock_source_switches", texts, *(line for _, line in switches[:4]))
    yield from _calibration_window(log, switches)


def _calibration_window(log: BootLog, switches: list[tuple[str, LogLine]]) -> Iterator[Fact]:
    """How long another clock source stood in until the TSC was calibrated and took over.

    In that time all CPUs read the stand-in, which may be the one HPET.
    """
    for (interim, began), (name, ended) in pairwise(switches):
        if name == "tsc" and began.time_s is not None and ended.time_s is not None:
            seconds = round(ended.time_s - began.time_s, 6)
            yield log.fact("tsc_calibration_window_s", seconds, began, ended)
            yield log.fact("tsc_calibration_stand_in", interim, began, ended)
            return


def _sources(log: BootLog) -> Iterator[Fact]:
    found: dict[str, tuple[str, LogLine]] = {}
    for match, line in log.all(_SOURCE):
        text = f"{match[1]}: {int(match[2], 16).bit_length()} bits"
        if match[3] is not None:
            text += f", idle at most {int(match[3]) / 1e9:.1f} s"
        found.setdefault(match[1], (text, line))
    if found:
        lines = [line for _, line in found.values()]
        yield log.fact("clock_sources_registered", [text for text, _ in found.values()], *lines[:4])
    if (sched := log.first(_SCHED_CLOCK)) is not None:
        yield log.fact("sched_clock_bits", int(sched[0][1]), sched[1])
        yield log.fact("sched_clock_resolution_ns", int(sched[0][2]), sched[1])
    said = list(log.all(_WATCHDOG))
    if said:
        texts = [f"{line.text.removeprefix('clocksource: ')}{_at(line)}" for _, line in said]
        yield log.fact("clock_source_watchdog", texts, said[0][1])


def _tsc(log: BootLog) -> Iterator[Fact]:
    how = list(log.all(_TSC_HOW))
    if how:
        yield log.fact("tsc_calibration", [match[1] for match, _ in how], how[0][1])
    for name, pattern in (("tsc_detected_mhz", _TSC_DETECTED), ("tsc_refined_mhz", _TSC_REFINED)):
        if (found := log.first(pattern)) is not None:
            yield log.fact(name, float(found[0][1]), found[1])
    if (found := log.first(_TSC_UNSTABLE)) is not None:
        match, line = found
        reason = next(group for group in match.groups() if group is not None)
        yield log.fact("tsc_unstable", f"{reason}{_at(line)}", line)


def _timers(log: BootLog) -> Iterator[Fact]:
    if (found := log.first(_HPET)) is not None:
        match, line = found
        yield log.fact("hpet_mhz", float(match[3]), line)
        yield log.fact("hpet_bits", int(match[2]), line)
        yield log.fact("hpet_comparators", int(match[1]), line)
    if (found := log.first(_ARCH_TIMER)) is not None:
        match, line = found
        yield log.fact("arch_timer_mhz", float(match[2]), line)
        yield log.fact("arch_timer", f"{match[1]}, {match[3]}", line)
