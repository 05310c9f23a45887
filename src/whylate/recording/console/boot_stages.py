"""Stages of a boot, by the words that boot loaders, the kernel and the system print.

A pattern is text that is looked for within a line, in which * stands for any text. It is no regular
expression, so that no pattern takes long, whatever a board prints: the log is searched for its
first words, and of each line that has them a bounded part for the rest. A stage whose words were
not printed is not there: nothing is concluded from the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from whylate.recording.console.kernel_stamp import KERNEL_STAMP

#: Bytes of a line that are searched.
MOST_LINE = 1024
#: Bytes of a boot that are searched.
MOST_BOOT = 4 << 20
#: Lines with the first words of a pattern that are looked at, for each pattern.
MOST_LINES = 1 << 15

#: From here on the kernel's time is of a clock source; it counted ticks before.
CLOCK_SOURCE = "clock-source"

#: The stages that are known, in their order.
DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "rom": ("NOTICE:*BL1", "SeaBIOS (version", "coreboot-", "OpenSBI v", "UEFI firmware"),
    "spl": ("U-Boot SPL ", "U-Boot TPL "),
    "u-boot": ("U-Boot 2",),
    "grub": ("GNU GRUB", "Welcome to GRUB"),
    "handover": ("Starting kernel ...", "EFI stub: ", "Loading Linux "),
    "kernel": ("Booting Linux on ", "Linux version "),
    CLOCK_SOURCE: ("Switched to clocksource ", "Switching to clocksource "),
    "init": ("Run /* as init process",),
    "systemd": ("systemd[1]: systemd *running in system mode", "Welcome to *Linux*!"),
    "login": (" login: ",),
}


@dataclass(frozen=True)
class StageSeen:
    """Where a stage was first seen.

    end: bytes of the log up to the end of its words. kernel_s: the kernel's time of its line, in s;
    None: the line has none. times: how often it was seen before the board was up; more than once
    where the board started again, or something repeats its words.
    """

    name: str
    end: int
    kernel_s: float | None
    times: int = 1


def find_boot_stages(
    log: bytes, stages: Mapping[str, Sequence[str]], booted: int | None = None
) -> list[StageSeen]:
    """Return the stages that a boot's log shows, in the order in which they were first seen.

    log: from power-on. booted: bytes of it when the board was up; None: all of it. Of a line the
    first MOST_LINE bytes are searched, of a log MOST_BOOT.
    """
    searched = log[:MOST_BOOT]
    seen = []
    for name, patterns in stages.items():
        matches = [
            stage
            for pattern in patterns
            if (stage := _find(name, searched, pattern, booted)) is not None
        ]
        if matches:
            first = min(matches, key=lambda stage: stage.end)
            seen.append(replace(first, times=max(stage.times for stage in matches)))
    return sorted(seen, key=lambda stage: stage.end)


def _find(name: str, log: bytes, pattern: str, booted: int | None) -> StageSeen | None:
    """Return where a pattern was first seen, and how often until the board was up."""
    parts = [part.encode() for part in pattern.split("*") if part]
    first: StageSeen | None = None
    times = at = 0
    for _ in range(MOST_LINES):
        at = log.find(parts[0], at)
        if at < 0:
            break
        nearest = max(0, at - MOST_LINE)
        start = log.rfind(b"\n", nearest, at) + 1
        # Without an end of a line so near, the words are further within theirs than is searched.
        if start or not nearest:
            stop = _end_of_line(log, at, start + MOST_LINE)
            end = _end(log, parts, at, stop)
            is_late = booted is not None and start >= booted
            if end is not None:
                times += not is_late
                if first is None:
                    stamp = KERNEL_STAMP.match(log[start:stop].lstrip())
                    first = StageSeen(name, end, float(stamp[1]) if stamp is not None else None)
            if first is not None and is_late:
                break
        at = log.find(b"\n", at) + 1
        if not at:
            break
    return first if first is None else replace(first, times=max(1, times))


def _end_of_line(log: bytes, at: int, most: int) -> int:
    end = log.find(b"\n", at, most)
    return end if end >= 0 else min(most, len(log))


def _end(log: bytes, parts: Sequence[bytes], at: int, stop: int) -> int | None:
    """Return where the words of a pattern end before `stop`; None: they are not all there."""
    for part in parts:
        position = log.find(part, at, stop)
        if position < 0:
            return None
        at = position + len(part)
    return at
