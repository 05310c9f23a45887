"""The benchmark `clock`: what reading a clock costs, by one thread or by many at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, get_args

from whylate.recording.bounds import BlockNs, Cpu, Small
from whylate.recording.turns import Nature, Sharing
from whylate.recording.workloads.assembler import RepetitionAssembler, check_figures
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload
from whylate.recording.workloads.point_names import count_text
from whylate.wire.codec import WireError
from whylate.wire.constants import ClockCalls
from whylate.wire.messages import ClockProperties, ClockRepetition, ClockSharing

How = Literal["libc", "syscall", "hpet", "device"]
#: In the order of their numbers on the wire (schema/wire.toml).
HOWS: tuple[How, ...] = get_args(How)
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


class ClockAssembler(RepetitionAssembler):
    """Builds rows of clock reads, one for each thread."""

    row = ClockRepetition
    details = (ClockProperties, ClockSharing)

    def place(self, message: ClockRepetition) -> tuple[int, int]:
        """Return the repetition, and the thread."""
        return message.repetition, message.thread

    def add_detail(self, message: ClockProperties | ClockSharing) -> None:
        """Add how the clock is read, or what sharing its reads costs."""
        if isinstance(message, ClockSharing):
            self._add_sharing(message)
            return
        check_figures(message.resolution_ns)
        calls: dict[int, bool] = {ClockCalls.NONE: False, ClockCalls.MADE: True}
        system_call = calls.get(message.system_call)
        self.report(message.turn, nature=Nature(system_call, message.resolution_ns))

    def _add_sharing(self, message: ClockSharing) -> None:
        figures = {name: getattr(message, name) for name in Sharing.__struct_fields__}
        check_figures(*figures.values())
        if message.stale > message.checks:
            raise WireError("more stale values than values")
        self.report(message.turn, sharing=Sharing(**figures))
