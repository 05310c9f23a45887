"""The workload `off`: for how long interrupts or preemption are disabled."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from msgspec import Meta

from whylate.recording.bounds import Cpu
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload, CounterPlan
from whylate.wire.constants import LONGEST_SAMPLING_NS, MOST_OFF_GROUPS, SHORTEST_SAMPLING_NS

What = Literal["irqs-off", "preempt-off"]
#: How it is to be known; best: by tracepoints where the kernel has them, else by samples.
Asked = Literal["best", "sampled", "tracepoints"]
ASKED: tuple[Asked, ...] = get_args(Asked)
#: In the order of their numbers on the wire (schema/wire.toml).
WHATS: tuple[What, ...] = get_args(What)
SamplingNs = Annotated[int, Meta(ge=SHORTEST_SAMPLING_NS, le=LONGEST_SAMPLING_NS)]
#: More stretches are not kept of a turn (probe/src/workloads/off.c).
MOST_STRETCHES = 1 << 20
#: Of a group with its callers; of a stretch, which mostly has half of that.
_GROUP_BYTES, _STRETCH_BYTES = 4096, 32


class OffPoint(BenchmarkPoint, frozen=True):
    """What is disabled, and how often that is sampled.

    With tracepoints period_ns is how long a stretch takes that has a row of its own.
    """

    what: What
    period_ns: SamplingNs = 53_000
    method: Asked = "best"
    cpus: tuple[Cpu, ...] = ()

    @property
    def name(self) -> str:
        """What is disabled."""
        return self.what

    @property
    def used_cpus(self) -> tuple[int, ...]:
        """The CPUs that are sampled."""
        return self.cpus

    @property
    def rows(self) -> int:
        """One of each CPU."""
        return len(self.cpus)


class Off(BenchmarkWorkload, frozen=True, kw_only=True, tag="off"):
    """Times in which interrupts or preemption are disabled; a repetition is a block of time."""

    columns: ClassVar[tuple[str, ...]] = (
        "cpu", "ns", "points", "disabled", "handler", "user", "unknown"
    )  # fmt: skip

    points: list[OffPoint]

    @property
    def repetition_counters(self) -> list[CounterPlan]:
        """None: they are read at the longest stretches."""
        return []

    @property
    def turn_bytes(self) -> int:
        """Bytes of the groups and of all stretches, where every sample is one."""
        samples = max(
            len(point.cpus) * self.repetitions * (self.block_ns // point.period_ns + 1)
            for point in self.points
        )
        return MOST_OFF_GROUPS * _GROUP_BYTES + min(samples, MOST_STRETCHES) * _STRETCH_BYTES
