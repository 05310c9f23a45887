"""Points from what is swept: every combination of what was named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product

import msgspec

from whylate.recording.points import (
    ClockPoint,
    How,
    MemoryPoint,
    Over,
    Pages,
    Point,
    Routine,
    Source,
    SwitchPoint,
    What,
)

#: Longer numbers count nothing.
_DIGITS = 6
_SIZE = re.compile(r"(\d{1,15})\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
#: Sizes of buffers where none are named.
SIZES = (1 << 20, 4 << 20, 64 << 20)
CLOCK_NAMES = ("realtime", "monotonic", "monotonic-raw", "monotonic-coarse")


def parse_size(text: str) -> int | None:
    """Return a size in bytes: 0, 4k, 64M, 1GiB, powers of 1024; None for what is none."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    return int(match[1]) << (10 * _POWERS[match[2].lower()])


def parse_count(text: str) -> int | None:
    """Return a number of tasks or threads; None for what is none."""
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= _DIGITS else None


def switch_points(
    tasks: Sequence[int] = (2,),
    set_bytes: Sequence[int] = (0,),
    over: Sequence[Over] = ("pipe",),
    kinds: Sequence[str] = ("process",),
) -> tuple[Point, ...]:
    """Return rings; kinds: "process" or "thread"."""
    return tuple(
        SwitchPoint(tasks=number, set_bytes=size, over=way, threads=kind == "thread")
        for kind, way, size, number in product(kinds, over, set_bytes, tasks)
    )


def has_parameter(what: What, field: str) -> bool:
    """Whether what is done with a buffer has a source, or calls a routine."""
    if field == "source":
        return what in ("copy", "read")
    return field != "routine" or what != "latency"


def memory_points(
    what: Sequence[What] = ("copy", "set", "read"),
    sizes: Sequence[int] = SIZES,
    source: Sequence[Source] = ("random",),
    pages: Sequence[Pages] = ("small",),
    routine: Sequence[Routine] = ("libc",),
) -> tuple[Point, ...]:
    """Return buffers; of what reads no source, or calls no routine, one for all of them."""
    found: dict[Point, None] = {}
    for op, kind, size, content, how in product(what, pages, sizes, source, routine):
        point = MemoryPoint(op, size, pages=kind)
        if has_parameter(op, "source"):
            point = msgspec.structs.replace(point, source=content)
        if has_parameter(op, "routine"):
            point = msgspec.structs.replace(point, routine=how)
        found[point] = None
    return tuple(found)


def clock_points(
    clocks: Sequence[str] = CLOCK_NAMES,
    threads: Sequence[int] = (1,),
    how: Sequence[How] = ("libc",),
    service_ns: int = 0,
    think_ns: int = 0,
) -> tuple[Point, ...]:
    """Return clocks and their readers; what is no clock of the kernel is read in one way."""
    found: list[Point] = []
    for way in how:
        for name in clocks if way in ("libc", "syscall") else (way,):
            for number in threads:
                device = (service_ns, think_ns) if way == "device" else (0, 0)
                found.append(ClockPoint(name, number, way, *device))
    return tuple(found)
