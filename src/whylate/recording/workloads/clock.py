"""The benchmark `clock`: what reading a clock costs, by one thread or by many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, get_args

from whylate.recording.bounds import BlockNs, Cpu, Small
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload
from whylate.recording.workloads.point_names import count_text

How = Literal["libc", "syscall", "hpet", "device"]
#: In the order of their numbers on the wire (schema/wire.toml).
HOWS: tuple[How, ...] = get_args(How)
#: The ways to read one of CLOCKS.
KERNEL_HOWS = ("libc", "syscall")
#: Forms of remedies/shared_read.h, in the order of their numbers on the wire.
Remedy = Literal["direct", "relaxed", "strict", "locked"]
REMEDIES: tuple[Remedy, ...] = get_args(Remedy)
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
#: The clocks that are read unless others are named.
CLOCK_NAMES = ("realtime", "monotonic", "monotonic-raw", "monotonic-coarse")


class ClockPoint(BenchmarkPoint, frozen=True):
    """A clock and its readers. service_ns, think_ns: of the emulated device alone.

    remedy: the form of remedies/shared_read.h in which it is read; None: plainly.
    """

    details: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "how": lambda point: f"by {point.how}",
        "remedy": lambda point: point.remedy or "",
        "service_ns": lambda point: (
            f"service {point.service_ns} ns" if point.how == "device" else ""
        ),
        "think_ns": lambda point: f"think {point.think_ns} ns" if point.how == "device" else "",
    }

    clock: str
    threads: Small = 1
    how: How = "libc"
    service_ns: BlockNs = 0
    think_ns: BlockNs = 0
    cpus: tuple[Cpu, ...] = ()
    remedy: Remedy | None = None

    @property
    def name(self) -> str:
        """As "monotonic, 2 threads"."""
        return f"{self.clock}, {count_text(self.threads, 'thread')}"

    @property
    def series_name(self) -> str:
        """Threads are swept: the clock."""
        return self.clock

    @property
    def used_cpus(self) -> tuple[int, ...]:
        """The CPUs that the threads are spread over."""
        return self.cpus

    @property
    def rows(self) -> int:
        """One of each thread."""
        return self.threads


class Clock(BenchmarkWorkload, frozen=True, kw_only=True, tag="clock"):
    """Clock reads."""

    columns: ClassVar[tuple[str, ...]] = (
        "thread", "cpu", "ns", "calls", "checks", "backward", "most_backward_ns"
    )  # fmt: skip

    points: list[ClockPoint]
