"""The environment of one run: its clock, its temperature, its kernel, from the facts."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from statistics import median

import msgspec

from whylate.recording.boot_mark import MARK
from whylate.recording.manifest import Fact

_MEGAHERTZ = re.compile(r"cpu (\d{1,5}): (\d{1,6}) MHz")
_DEGREES = re.compile(r".{0,60}: (-?\d{1,3}(?:\.\d)?) °C")


class Environment(msgspec.Struct, frozen=True):
    """The environment of a run; None: not known.

    clock_mhz: the median over its measured CPUs. temperature_c: of the hottest thermal zone, before
    the run.
    """

    clock_mhz: float | None = None
    temperature_c: float | None = None
    kernel: str | None = None
    command_line: list[str] | None = None


def _without_mark(words: Sequence[str]) -> list[str]:
    """Return a command line without the word that whylate adds: it differs with each entry."""
    return [word for word in words if not word.startswith(f"{MARK}=")]


def read_environment(facts: Sequence[Fact], cpus: Collection[int]) -> Environment:
    """Return the environment that facts have; cpus: that were measured, none: all."""
    values = {fact.name: fact.value for fact in facts}

    def numbers(name: str, pattern: re.Pattern[str]) -> list[re.Match[str]]:
        lines = values.get(name)
        matches = map(pattern.fullmatch, lines if isinstance(lines, list) else [])
        return [match for match in matches if match is not None]

    clocks = {int(m[1]): float(m[2]) for m in numbers("cpu_frequency_measured", _MEGAHERTZ)}
    used = [mhz for cpu, mhz in clocks.items() if cpu in cpus] or list(clocks.values())
    degrees = [float(match[1]) for match in numbers("temperatures", _DEGREES)]
    release, line = values.get("kernel_release"), values.get("kernel_command_line")
    return Environment(
        clock_mhz=median(used) if used else None,
        temperature_c=max(degrees, default=None),
        kernel=release if isinstance(release, str) else None,
        command_line=_without_mark(line) if isinstance(line, list) else None,
    )
