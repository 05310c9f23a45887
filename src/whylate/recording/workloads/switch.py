"""The benchmark `switch`: a token passed round a ring of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, get_args

from whylate.recording.bounds import Count, Cpu, Priority, Small
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload
from whylate.recording.workloads.point_names import count_text, cpus_text, size_text
from whylate.wire.constants import MOST_TRACE_BYTES

Over = Literal["pipe", "eventfd", "futex", "socketpair"]
#: In the order of their numbers on the wire (schema/wire.toml).
OVERS: tuple[Over, ...] = get_args(Over)
#: A word for a kind of task, and whether it shares its address space.
KINDS = {"process": False, "thread": True}


class SwitchPoint(BenchmarkPoint, frozen=True):
    """A ring of tasks. cpus: task k runs on cpus[k mod n]; none: the scheduler chooses."""

    details: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "set_bytes": lambda point: f"sets of {size_text(point.set_bytes)}",
        "over": lambda point: str(point.over),
        "threads": lambda point: "threads" if point.threads else "processes",
        "cpus": lambda point: cpus_text(point.cpus),
    }

    tasks: Small
    set_bytes: Count = 0
    over: Over = "pipe"
    #: In one address space; else each task is a process.
    threads: bool = False
    cpus: tuple[Cpu, ...] = ()

    @property
    def name(self) -> str:
        """As "2 tasks"."""
        return count_text(self.tasks, "task")

    @property
    def series_name(self) -> str:
        """Tasks and sets are swept: nothing is left."""
        return ""

    @property
    def used_cpus(self) -> tuple[int, ...]:
        """The CPUs of the ring."""
        return self.cpus


class Switch(BenchmarkWorkload, frozen=True, kw_only=True, tag="switch"):
    """Context switches. priority: SCHED_FIFO, 1 to 99; 0: SCHED_OTHER.

    record: at the end of each turn its switches are traced, in a block of their own.
    """

    columns: ClassVar[tuple[str, ...]] = ("ring_ns", "own_ns", "hops", "switches")

    points: list[SwitchPoint]
    priority: Priority = 0
    record: bool = False

    @property
    def turn_bytes(self) -> int:
        """Bytes of the trace of a turn."""
        return MOST_TRACE_BYTES if self.record else super().turn_bytes
