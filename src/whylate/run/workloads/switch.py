"""Running the benchmark `switch`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, ClassVar

import msgspec

from whylate.recording.plan import RunPlan
from whylate.recording.workloads import Workload
from whylate.recording.workloads.switch import KINDS, OVERS, Over, Switch, SwitchPoint
from whylate.run.errors import RequestError
from whylate.run.sweeps import parse_count, parse_size
from whylate.run.workloads.rules import BenchmarkRules, Knob, Parameter, one_of, set_priority
from whylate.run.workloads.tables import BenchmarkTable, BlockTable, Size
from whylate.wire.constants import (
    LARGEST_SET,
    LONGEST_REALTIME_BLOCK_NS,
    MOST_TASKS,
    MOST_TRACE_BYTES,
)
from whylate.wire.messages import BenchSwitch, BenchTracedSwitch

#: Of a serial line of 115,200 baud, with its frames.
_SLOWEST_BYTES_PER_S = 8_000


class SwitchTable(BlockTable, kw_only=True):
    """[switch]."""

    priority: int = 0
    record: bool = False
    tasks: tuple[int, ...] = (2,)
    set_size: tuple[Size, ...] = (Size(0),)
    over: tuple[Over, ...] = ("pipe",)
    kind: tuple[str, ...] = ("process",)

    def workload(self) -> Workload:
        """Return the rings."""
        if not set(self.kind) <= set(KINDS):
            raise RequestError(f"kind of [switch]: expected {' or '.join(KINDS)}")
        points = [
            SwitchPoint(tasks=number, set_bytes=int(size), over=way, threads=KINDS[kind])
            for kind, way, size, number in product(self.kind, self.over, self.set_size, self.tasks)
        ]
        return Switch(points=points, priority=self.priority, record=self.record, **self.common())


class SwitchRules(BenchmarkRules):
    """Context switches."""

    table: ClassVar[type[BenchmarkTable] | None] = SwitchTable
    knobs: ClassVar[Mapping[str, Knob]] = {"priority": set_priority}
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "tasks": ("tasks", parse_count),
        "set_size": ("set_bytes", parse_size),
        "over": ("over", one_of(OVERS)),
        "kind": ("threads", KINDS.get),
    }

    def check_point(self, point: SwitchPoint) -> None:
        """Raise RequestError for an invalid ring."""
        if not 1 <= point.tasks <= MOST_TASKS:
            raise RequestError(f"--tasks must lie between 1 and {MOST_TASKS}")
        if not 0 <= point.set_bytes <= LARGEST_SET:
            raise RequestError("--set-size must lie between 0 and 1 TiB")

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for what no board can do."""
        super().check(plan)
        workload: Any = plan.workload
        if workload.priority and workload.block_ns > LONGEST_REALTIME_BLOCK_NS:
            raise RequestError("--block must be at most 1s with --priority: no other task runs")

    def patience_s(self, workload: Switch) -> float:
        """Return how long a turn may take without a repetition: its trace comes at its end."""
        trace_s = MOST_TRACE_BYTES / _SLOWEST_BYTES_PER_S if workload.record else 0.0
        return super().patience_s(workload) + trace_s

    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Accept any number of CPUs."""

    def pin(
        self, point: SwitchPoint, cpus: Sequence[int] | None, available: Sequence[int]
    ) -> SwitchPoint:
        """Pin a ring to the requested CPUs, or to the first."""
        return msgspec.structs.replace(point, cpus=tuple(cpus or available[:1]))

    def command(
        self, workload: Switch, point: SwitchPoint, turn: int
    ) -> BenchSwitch | BenchTracedSwitch:
        """Return the command that measures a point in a turn."""
        ring: dict[str, Any] = {
            "turn": turn,
            "tasks": point.tasks,
            "channel": OVERS.index(point.over),
            "threads": int(point.threads),
            "set_bytes": point.set_bytes,
            "block_ns": workload.block_ns,
            "repetitions": workload.repetitions,
            "priority": workload.priority,
            "cpus": point.cpus,
        }
        if workload.record:
            return BenchTracedSwitch(**ring, trace_bytes=MOST_TRACE_BYTES)
        return BenchSwitch(**ring)
