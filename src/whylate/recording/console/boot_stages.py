"""Stages of a boot, by the words that boot loaders, the kernel and the system print.

A pattern is text that is looked for within a line, in which * stands for any text. It is no regular
expression, so that no pattern takes long, whatever a board prints. A stage whose words were not
printed is not there: nothing is concluded from the others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

#: Bytes of a line that are searched.
MOST_LINE = 1024
#: Bytes of a boot that are searched.
MOST_BOOT = 4 << 20
#: The kernel's time at the beginning of a line.
_STAMP = re.compile(rb"(?:<\d{1,2}>)?\[ {0,10}(\d{1,8}\.\d{6})\]")

#: The stages that are known, in their order.
DEFAULTS: Mapping[str, tuple[str, ...]] = {
    "rom": ("NOTICE:*BL1", "SeaBIOS (version", "coreboot-", "OpenSBI v", "UEFI firmware"),
    "spl": ("U-Boot SPL ", "U-Boot TPL "),
    "u-boot": ("U-Boot 2",),
    "grub": ("GNU GRUB", "Welcome to GRUB"),
    "handover": ("Starting kernel ...", "EFI stub: ", "Loading Linux "),
    "kernel": ("Booting Linux on ", "Linux version "),
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
    parts = {
        name: [tuple(part.encode() for part in pattern.split("*") if part) for pattern in patterns]
        for name, patterns in stages.items()
    }
    first: dict[str, StageSeen] = {}
    counts: Counter[tuple[str, int]] = Counter()
    start = 0
    for line in log[:MOST_BOOT].split(b"\n"):
        searched = line[:MOST_LINE]
        for name, patterns in parts.items():
            for number, pattern in enumerate(patterns):
                end = _end(searched, pattern)
                if end is None:
                    continue
                counts[name, number] += booted is None or start < booted
                known = first.get(name)
                if known is None or start + end < known.end:
                    stamp = _STAMP.match(searched.lstrip())
                    kernel_s = float(stamp[1]) if stamp is not None else None
                    first[name] = StageSeen(name, start + end, kernel_s)
        start += len(line) + 1
    seen = [
        replace(stage, times=max(1, *(counts[name, number] for number in range(len(parts[name])))))
        for name, stage in first.items()
    ]
    return sorted(seen, key=lambda stage: stage.end)


def _end(line: bytes, parts: Sequence[bytes]) -> int | None:
    """Return where the words of a pattern end in a line; None: they are not in it."""
    at = 0
    for part in parts:
        position = line.find(part, at)
        if position < 0:
            return None
        at = position + len(part)
    return at
