"""Clocks while the kernel boots: clock sources and when they took over, TSC, HPET, ARM timers.

Lines: Linux, kernel/time/clocksource.c, kernel/time/sched_clock.c, arch/x86/kernel/tsc.c,
drivers/char/hpet.c, drivers/clocksource/arm_arch_timer.c; older kernels print some of them
without the prefix.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from whylate.boards.facts.bootlog.log import BootLog, Derived, EveryLine, FirstLine, Row
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
