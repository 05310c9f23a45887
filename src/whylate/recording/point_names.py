"""What points are called: by what is swept, so that runs with one and the same sweep agree."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

from whylate.recording.points import ClockPoint, CommandPoint, MemoryPoint, Point, SwitchPoint

_MOST_COMMAND = 60
#: What a command that is timed is compared by besides.
CPU_TIME = "CPU time"


def size_text(size: int) -> str:
    """Write a size: 64 MiB, 20 KiB, 100 B."""
    for unit, name in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def cpus_text(cpus: Sequence[int]) -> str:
    """Write where tasks run: CPU 0, CPUs 0 and 1."""
    if not cpus:
        return "any CPU"
    return f"CPU {cpus[0]}" if len(cpus) == 1 else f"CPUs {','.join(map(str, cpus))}"


def cpus_of(points: Sequence[Point]) -> list[int]:
    """Return the CPUs that points are tried on, in their order; none: wherever they are put."""
    found: dict[int, None] = {}
    for one in points:
        if isinstance(one, SwitchPoint | ClockPoint):
            found |= dict.fromkeys(one.cpus)
        elif isinstance(one, MemoryPoint) and one.cpu is not None:
            found[one.cpu] = None
    return list(found)


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_COMMAND else f"{text[: _MOST_COMMAND - 1]}…"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


#: What a point is always called by, and what is said of it where it differs between points.
_ALWAYS: dict[type[Point], Callable[[Any], str]] = {
    SwitchPoint: lambda one: _count(one.tasks, "task"),
    MemoryPoint: lambda one: f"{one.what} {size_text(one.size)}",
    ClockPoint: lambda one: f"{one.clock}, {_count(one.threads, 'thread')}",
    CommandPoint: lambda one: "wall time" if one.value is None else "value",
}
_WHERE_IT_DIFFERS: dict[type[Point], dict[str, Callable[[Any], str]]] = {
    SwitchPoint: {
        "set_bytes": lambda one: f"sets of {size_text(one.set_bytes)}",
        "over": lambda one: str(one.over),
        "threads": lambda one: "threads" if one.threads else "processes",
        "cpus": lambda one: cpus_text(one.cpus),
    },
    MemoryPoint: {
        "source": lambda one: "" if one.what in ("set", "latency") else f"{one.source} source",
        "pages": lambda one: f"{one.pages} pages",
        "routine": lambda one: str(one.routine),
        "cpu": lambda one: cpus_text(() if one.cpu is None else (one.cpu,)),
    },
    ClockPoint: {
        "how": lambda one: f"by {one.how}",
        "service_ns": lambda one: f"service {one.service_ns} ns" if one.how == "device" else "",
        "think_ns": lambda one: f"think {one.think_ns} ns" if one.how == "device" else "",
    },
    CommandPoint: {
        "argv": lambda one: _cut(shlex.join(one.argv)),
        "env": lambda one: _cut(" ".join(one.env)),
    },
}


#: The same without what is mostly swept: tasks, sizes, threads.
_UNSWEPT: dict[type[Point], Callable[[Any], str]] = {
    SwitchPoint: lambda _: "",
    MemoryPoint: lambda one: str(one.what),
    ClockPoint: lambda one: str(one.clock),
    CommandPoint: _ALWAYS[CommandPoint],
}


def point_names(points: Sequence[Point]) -> list[str]:
    """Return the name of each point: different points of one plan have different names."""
    return _names(points, _ALWAYS)


def series_names(points: Sequence[Point]) -> list[str]:
    """Return what points are called that stand at all sizes, or numbers of tasks or threads."""
    return _names(points, _UNSWEPT)


def _names(points: Sequence[Point], always: dict[type[Point], Callable[[Any], str]]) -> list[str]:
    if not points:
        return []
    kind = type(points[0])
    differing = [
        say
        for name, say in _WHERE_IT_DIFFERS[kind].items()
        if len({getattr(one, name) for one in points}) > 1
    ]
    says = [always[kind], *differing]
    return [", ".join(text for say in says if (text := say(one))) for one in points]


def common_text(points: Sequence[Point]) -> str:
    """Return what all points have in common and their names do not say."""
    if not points:
        return ""
    kind = type(points[0])
    said = [
        say(points[0])
        for name, say in _WHERE_IT_DIFFERS[kind].items()
        if len({getattr(one, name) for one in points}) == 1
    ]
    return ", ".join(text for text in said if text)
