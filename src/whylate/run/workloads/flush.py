"""Running the benchmark `flush`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import ClassVar

import msgspec

from whylate.recording.plan import RunPlan
from whylate.recording.workloads import Workload
from whylate.recording.workloads.flush import CALLS, By, Flush, FlushPoint
from whylate.run.errors import RequestError
from whylate.run.sweeps import parse_count, parse_size
from whylate.run.workloads.rules import LEAST_BLOCK_NS, BenchmarkRules, Parameter, one_of
from whylate.run.workloads.tables import BenchmarkTable, BlockTable, Duration, Size
from whylate.wire.constants import LARGEST_FLUSH_SET, MOST_FLUSH_PAGES, MOST_TASKS
from whylate.wire.messages import BenchFlush, BenchSwitchFlush

_LONGEST_BLOCK_NS = 1_000_000_000
_LONGEST_EVERY_NS = 10_000_000


class FlushTable(BlockTable, kw_only=True):
    """[flush]. every: from one call to the next; 0: as often as it goes. tasks: of switches."""

    by: tuple[By, ...] = ("munmap",)
    pages: tuple[int, ...] = (1,)
    set_size: tuple[Size, ...] = (Size(0),)
    every: Duration = Duration(50_000)
    tasks: tuple[int, ...] = (8,)

    def workload(self) -> Workload:
        """Return the calls and the victims."""
        points = [
            FlushPoint(by=way, pages=0, set_bytes=int(size), every_ns=0, tasks=number)
            if way == "switch"
            else FlushPoint(by=way, pages=number, set_bytes=int(size), every_ns=int(self.every))
            for way, size in product(self.by, self.set_size)
            for number in (self.tasks if way == "switch" else self.pages)
        ]
        return Flush(points=points, **self.common())


class FlushRules(BenchmarkRules):
    """Flushes beside a victim."""

    table: ClassVar[type[BenchmarkTable] | None] = FlushTable
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "by": ("by", one_of(CALLS)),
        "tasks": ("tasks", parse_count),
        "pages": ("pages", parse_count),
        "set_size": ("set_bytes", parse_size),
    }

    def check_point(self, point: FlushPoint) -> None:
        """Raise RequestError for calls that no board can make."""
        if point.is_switch:
            if not 2 <= point.tasks <= MOST_TASKS:
                raise RequestError(f"--tasks must lie between 2 and {MOST_TASKS}")
        elif not 1 <= point.pages <= MOST_FLUSH_PAGES:
            raise RequestError(f"--pages must lie between 1 and {MOST_FLUSH_PAGES}")
        if not 0 <= point.set_bytes <= LARGEST_FLUSH_SET:
            raise RequestError("--set-size must lie between 0 and 1 GiB")
        if not 0 <= point.every_ns <= _LONGEST_EVERY_NS:
            raise RequestError("--every must lie between 0 and 10ms")

    def has(self, point: FlushPoint, field: str) -> bool:
        """Return whether a field means something: tasks are of switches, pages are of calls."""
        if field == "tasks":
            return point.is_switch
        return field == "set_bytes" or not point.is_switch

    def check_block(self, block_ns: int) -> None:
        """Raise RequestError for blocks that are too short or too long."""
        if not LEAST_BLOCK_NS <= block_ns <= _LONGEST_BLOCK_NS:
            raise RequestError("--block must lie between 100us and 1s for flushes")

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for what no board can do."""
        super().check(plan)
        if plan.benchmark is not None and plan.benchmark.free:
            raise RequestError("--free: caller and victim need a CPU each, name them with --cpus")

    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Raise RequestError for other than two CPUs."""
        if len(cpus) != 2:
            raise RequestError("--cpus: name two, that of the caller and that of the victim")

    def pin(
        self, point: FlushPoint, cpus: Sequence[int] | None, available: Sequence[int]
    ) -> FlushPoint:
        """Give caller and victim the requested CPUs, or the first two; raises RequestError."""
        used = tuple(cpus or available[:2])
        if len(used) < 2:
            raise RequestError("flushes by another CPU need two CPUs, and there is one here")
        return msgspec.structs.replace(point, cpus=used)

    def patience_s(self, workload: Flush) -> float:
        """Return how long a turn may take without a repetition, in seconds: it has three blocks."""
        return super().patience_s(workload) + 3.0 * workload.block_ns / 1e9

    def command(
        self, workload: Flush, point: FlushPoint, turn: int
    ) -> BenchFlush | BenchSwitchFlush:
        """Return the command that measures a point in a turn."""
        caller, victim = point.cpus
        if point.by == "switch":
            return BenchSwitchFlush(
                turn=turn,
                tasks=point.tasks,
                set_bytes=point.set_bytes,
                block_ns=workload.block_ns,
                repetitions=workload.repetitions,
                caller=caller,
                victim=victim,
            )
        return BenchFlush(
            turn=turn,
            operation=CALLS.index(point.by),
            pages=point.pages,
            set_bytes=point.set_bytes,
            every_ns=point.every_ns,
            block_ns=workload.block_ns,
            repetitions=workload.repetitions,
            caller=caller,
            victim=victim,
        )
