"""The family of benchmarks: points that are measured in repetitions, in random order.

A point is one setting of the swept parameters. A turn is one point in one round: it is set up,
measured in several repetitions, and torn down. A round has each point once, in an order of its own,
so that a slow phase of the machine affects all points alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from whylate.recording.bounds import BlockNs, Count, Repetition, Small
from whylate.wire.constants import KEPT_OUTPUT


class CounterPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A counted event: type and config of perf_event_open(2), under perf's name.

    type None: the name is not resolved yet, which takes the board's CPU model.
    mode: 1 not in the kernel, 2 not in user mode, 4 not in the hypervisor.
    """

    name: str
    type: Small | None = None
    config: int = 0
    mode: Small = 0

    def __post_init__(self) -> None:
        """Raise ValueError for a config that the kernel has no room for."""
        if not 0 <= self.config < 1 << 64:
            raise ValueError("the config of a counter has more than 64 bits")


def with_counter_name(text: str, counters: Sequence[CounterPlan]) -> str:
    """Return a probe's text on "counter N", the first is 1, with the name of that event."""
    match = re.match(r"counter ([0-9]{1,4}) ", text)
    if match is None or not 1 <= int(match[1]) <= len(counters):
        return text
    return f"{counters[int(match[1]) - 1].name} {text[match.end() :]}"


class BenchmarkPoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One setting of the swept parameters."""

    #: Texts of the parameters that `name` leaves out, by field: shown where points differ in them.
    details: ClassVar[Mapping[str, Callable[[Any], str]]] = {}

    @property
    def name(self) -> str:
        """The text that identifies the point in most sweeps."""
        raise NotImplementedError

    @property
    def series_name(self) -> str:
        """The name without the parameter that is plotted along the x axis."""
        return self.name

    @property
    def used_cpus(self) -> tuple[int, ...]:
        """The CPUs that the point is pinned to; none: the scheduler chooses."""
        return ()

    @property
    def rows(self) -> int:
        """Rows of each repetition."""
        return 1


class BenchmarkWorkload(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"
):
    """A workload whose samples are repetitions of points.

    order: the point of each turn, by its index in points; empty until the plan is resolved.
    """

    #: Columns of repetitions.parquet beside those of every benchmark.
    columns: ClassVar[tuple[str, ...]] = ()
    #: Whether there is a column `value`: float64, null where there is none.
    has_value: ClassVar[bool] = False

    points: Sequence[BenchmarkPoint]
    rounds: Repetition = 10
    repetitions: Repetition = 5
    block_ns: BlockNs = 50_000_000
    #: No point is pinned to a CPU.
    free: bool = False
    order: list[Count] = []
    counters: list[CounterPlan] = []

    def __post_init__(self) -> None:
        """Raise ValueError for a plan that contradicts itself."""
        if not self.points:
            raise ValueError("a benchmark without points")
        if any(not 0 <= index < len(self.points) for index in self.order):
            raise ValueError("a turn of an unknown point")

    @property
    def kind(self) -> str:
        """The name of the workload."""
        return str(self.__struct_config__.tag)

    @property
    def repetition_counters(self) -> list[CounterPlan]:
        """The counters that are read in each repetition."""
        return self.counters

    @property
    def allow_idle_states(self) -> bool:
        """Idle states are not held."""
        return True

    @property
    def turn_bytes(self) -> int:
        """Bytes that a turn may send beside its repetitions."""
        return KEPT_OUTPUT

    @property
    def priority(self) -> int:
        """The SCHED_FIFO priority of the tasks; 0: they have none."""
        return 0
