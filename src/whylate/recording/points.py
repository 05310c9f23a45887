"""What a workload that has repetitions is asked for: points, and how often each is tried.

A point is one setting of what is swept: so many tasks, a buffer of such a size, a clock read by so
many threads. A trial is one go at a point, from setting it up to giving all of it back, and has
repetitions. A round has each point once, in an order of its own: what the machine does meanwhile
falls on all of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, get_args

import msgspec

Over = Literal["pipe", "eventfd", "futex", "socketpair"]
What = Literal["copy", "set", "read", "latency"]
Source = Literal["untouched", "zeros", "random"]
Pages = Literal["small", "thp", "hugetlb", "as-set"]
Routine = Literal["libc", "plain"]
How = Literal["libc", "syscall", "hpet", "device"]

#: In the order of their numbers on the wire (schema/wire.toml).
OVERS: tuple[Over, ...] = get_args(Over)
WHATS: tuple[What, ...] = get_args(What)
SOURCES: tuple[Source, ...] = get_args(Source)
PAGES: tuple[Pages, ...] = get_args(Pages)
ROUTINES: tuple[Routine, ...] = get_args(Routine)
HOWS: tuple[How, ...] = get_args(How)

#: Clocks of clock_gettime(2) by their names there, without CLOCK_.
CLOCKS = {
    "realtime": 0,
    "monotonic": 1,
    "process-cputime": 2,
    "thread-cputime": 3,
    "monotonic-raw": 4,
    "realtime-coarse": 5,
    "monotonic-coarse": 6,
    "boottime": 7,
    "tai": 11,
}


class SwitchPoint(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="switch", tag_field="of"
):
    """A ring of tasks. cpus: the k-th task runs on the k-th of them; none: wherever it is put."""

    tasks: int
    set_bytes: int = 0
    over: Over = "pipe"
    #: In one address space; else each is a process.
    threads: bool = False
    cpus: tuple[int, ...] = ()


class MemoryPoint(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="memory", tag_field="of"
):
    """A buffer. source: what copy and read find there; it means nothing for set and latency."""

    what: What
    size: int
    source: Source = "random"
    pages: Pages = "small"
    routine: Routine = "libc"
    #: None: wherever it is put.
    cpu: int | None = None


class ClockPoint(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="clock", tag_field="of"
):
    """A clock and its readers. service_ns, think_ns: of the emulated device alone."""

    clock: str
    threads: int = 1
    how: How = "libc"
    service_ns: int = 0
    think_ns: int = 0
    cpus: tuple[int, ...] = ()


class CommandPoint(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="cmd", tag_field="of"
):
    """A command. value: an expression that finds a number in what it writes; None: its time."""

    argv: tuple[str, ...]
    #: Variables that it is given, as NAME=VALUE.
    env: tuple[str, ...] = ()
    value: str | None = None
    unit: str = ""
    higher_is_better: bool = False


Point = SwitchPoint | MemoryPoint | ClockPoint | CommandPoint
TrialWorkload = Literal["switch", "memory", "clock", "cmd"]
TRIAL_WORKLOADS: tuple[TrialWorkload, ...] = get_args(TrialWorkload)
_POINTS: dict[TrialWorkload, type[Point]] = {
    "switch": SwitchPoint,
    "memory": MemoryPoint,
    "clock": ClockPoint,
    "cmd": CommandPoint,
}


class CounterPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An event that is counted: type and config as of perf_event_open(2), under perf's name.

    mode: 1 not in the kernel, 2 not in user mode, 4 not in the hypervisor.
    """

    name: str
    type: int
    config: int
    mode: int = 0


def with_counter_name(text: str, counters: Sequence[CounterPlan]) -> str:
    """Return what a probe said of "counter N", the first is 1, with the name of that event."""
    match = re.match(r"counter ([0-9]{1,4}) ", text)
    if match is None or not 1 <= int(match[1]) <= len(counters):
        return text
    return f"{counters[int(match[1]) - 1].name} {text[match.end() :]}"


class TrialsPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The points, and the trials of them in their order.

    order: the point of each trial, by its place in points.
    """

    points: list[Point]
    rounds: int
    repetitions: int
    block_ns: int
    order: list[int]
    priority: int = 0
    counters: list[CounterPlan] = []

    def __post_init__(self) -> None:
        """Raise ValueError for a plan that contradicts itself."""
        workload_of_points(self.points)
        if any(not 0 <= one < len(self.points) for one in self.order):
            raise ValueError("a trial of a point that there is not")


def workload_of_points(points: Sequence[Point]) -> TrialWorkload:
    """Return the workload that the points are of; raises ValueError where they are of several."""
    for name, kind in _POINTS.items():
        if points and all(isinstance(one, kind) for one in points):
            return name
    raise ValueError("points of one workload are needed")
