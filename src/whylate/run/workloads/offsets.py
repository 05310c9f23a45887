"""Running the benchmark `offsets`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from whylate.recording.plan import RunPlan
from whylate.recording.workloads import Workload
from whylate.recording.workloads.clock import CLOCKS
from whylate.recording.workloads.offsets import OffsetPoint, Offsets
from whylate.run.errors import RequestError
from whylate.run.workloads.rules import BenchmarkRules
from whylate.run.workloads.tables import BenchmarkTable, BlockTable
from whylate.wire.messages import BenchOffset

#: Clocks that all CPUs read alike, and finely.
OFFSET_CLOCKS = ("monotonic-raw", "monotonic", "realtime", "boottime", "tai")
MOST_SHIFT_NS = 1_000_000_000
MOST_DRIFT_PPB = 1_000_000


class OffsetsTable(BlockTable, kw_only=True):
    """What whylate bench clock --between-cpus takes. shift_ns, drift_ppb: added, as a check."""

    clocks: tuple[str, ...] = OFFSET_CLOCKS[:1]
    shift_ns: int = 0
    drift_ppb: int = 0

    def workload(self) -> Workload:
        """Return the clocks; their CPUs are those of the board."""
        points = [
            OffsetPoint(clock, shift_ns=self.shift_ns, drift_ppb=self.drift_ppb)
            for clock in self.clocks
        ]
        return Offsets(points=points, **self.common())


class OffsetsRules(BenchmarkRules):
    """Clocks of CPUs beside each other."""

    #: Its points are known only once the board's CPUs are: no study has their names before.
    table: ClassVar[type[BenchmarkTable] | None] = None

    def check_point(self, point: OffsetPoint) -> None:
        """Raise RequestError for a clock that CPUs do not share, or too much that is added."""
        if point.clock not in OFFSET_CLOCKS:
            known = ", ".join(OFFSET_CLOCKS)
            raise RequestError(f"--between-cpus compares the clocks {known}: see --clocks")
        if abs(point.shift_ns) > MOST_SHIFT_NS:
            raise RequestError("--add-offset must lie between -1s and 1s")
        if abs(point.drift_ppb) > MOST_DRIFT_PPB:
            raise RequestError("--add-rate must lie between -1000 and 1000 ppm")

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for what no board can do."""
        super().check(plan)
        if plan.benchmark is not None and plan.benchmark.free:
            raise RequestError("--free: the clocks of CPUs are read on these CPUs")

    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Raise RequestError for a single CPU."""
        if len(cpus) < 2:
            raise RequestError("--cpus: name two or more: the first is compared with each other")

    def pin(
        self, point: OffsetPoint, cpus: Sequence[int] | None, available: Sequence[int]
    ) -> OffsetPoint:
        """Return the point: resolve() gives it its CPUs."""
        del cpus, available
        return point

    def resolve(self, plan: RunPlan, available: Sequence[int], model: str | None) -> Workload:
        """Make a point of each pair of the first CPU with another; raises RequestError."""
        workload: Any = plan.workload
        first, *others = plan.cpus or available
        if not others:
            raise RequestError("clocks of CPUs are compared where there are two, and here is one")
        points = [
            msgspec.structs.replace(point, cpus=point.cpus or (first, other))
            for point in workload.points
            for other in (others[:1] if point.cpus else others)
        ]
        paired = msgspec.structs.replace(workload, points=points)
        whole = msgspec.structs.replace(plan, workload=paired)
        self.check(whole)
        return super().resolve(whole, available, model)

    def command(self, workload: Offsets, point: OffsetPoint, turn: int) -> BenchOffset:
        """Return the command that measures a point in a turn."""
        first, second = point.cpus
        return BenchOffset(
            turn=turn,
            clock=CLOCKS[point.clock],
            block_ns=workload.block_ns,
            repetitions=workload.repetitions,
            first=first,
            second=second,
            shift_ns=point.shift_ns,
            drift_ppb=point.drift_ppb,
        )
