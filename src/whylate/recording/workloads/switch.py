"""The benchmark `switch`: a token passed round a ring of tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, get_args

from whylate.recording.bounds import Count, Cpu, Priority, Small
from whylate.recording.flush_reasons import FLUSH_REASONS
from whylate.recording.turns import Flushes, FlushReasons
from whylate.recording.workloads.assembler import RepetitionAssembler, check_figures
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload
from whylate.recording.workloads.point_names import count_text, cpus_text, size_text
from whylate.wire.codec import WireError
from whylate.wire.constants import MOST_TRACE_BYTES
from whylate.wire.messages import (
    FlushReasons as FlushReasonsMessage,
)
from whylate.wire.messages import (
    SwitchFlushes,
    SwitchRepetition,
    SwitchTrace,
)

Over = Literal["pipe", "eventfd", "futex", "socketpair"]
#: In the order of their numbers on the wire (schema/wire.toml).
OVERS: tuple[Over, ...] = get_args(Over)


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


class SwitchAssembler(RepetitionAssembler):
    """Builds rows of rings, reports of TLB flushes, and the traces of turns."""

    row = SwitchRepetition
    details = (SwitchFlushes, FlushReasonsMessage, SwitchTrace)

    def __init__(self, workload: BenchmarkWorkload) -> None:
        super().__init__(workload)
        self._traces: dict[int, bytearray] = {}

    def add_detail(self, message: SwitchFlushes | FlushReasonsMessage | SwitchTrace) -> None:
        """Add the flushes of a turn, by reason too, or a piece of its trace."""
        if isinstance(message, SwitchTrace):
            self._add_trace(message)
            return
        if isinstance(message, FlushReasonsMessage):
            if len(message.flushes) not in (0, len(FLUSH_REASONS)):
                raise WireError("flushes of other reasons")
            check_figures(*message.flushes)
            reasons = FlushReasons(list(message.flushes), message.error)
            self.report(message.turn, flush_reasons=reasons)
            return
        check_figures(message.hops, message.switches, message.flushes)
        flushes = Flushes(message.hops, message.switches, message.flushes, message.error)
        self.report(message.turn, flushes=flushes)

    def _add_trace(self, message: SwitchTrace) -> None:
        trace = self._traces.setdefault(message.turn, bytearray())
        if not isinstance(self.workload, Switch) or not self.workload.record:
            raise WireError("a trace that was not asked for")
        if len(trace) + len(message.data) > MOST_TRACE_BYTES:
            raise WireError("more of a trace than the probe sends")
        trace += message.data
        self.report(message.turn, trace_error=message.error, trace_bytes=len(trace))

    def switch_traces(self) -> dict[int, bytes] | None:
        """Return the lines of each turn's trace; None where none was asked for.

        Comments are left out: what a thread is called begins no line of another turn.
        """
        if not isinstance(self.workload, Switch) or not self.workload.record:
            return None
        return {
            turn: b"".join(
                line + b"\n"
                for line in bytes(trace).split(b"\n")
                if line.strip() and not line.startswith(b"#")
            )
            for turn, trace in self._traces.items()
        }
