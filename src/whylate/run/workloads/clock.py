"""Running the benchmark `clock`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from whylate.recording.workloads import Workload
from whylate.recording.workloads.clock import (
    CLOCK_NAMES,
    CLOCKS,
    HOWS,
    KERNEL_HOWS,
    REMEDIES,
    Clock,
    ClockPoint,
    How,
    Remedy,
)
from whylate.run.errors import RequestError
from whylate.run.sweeps import parse_count
from whylate.run.workloads.rules import BenchmarkRules, Parameter, one_of
from whylate.run.workloads.tables import BenchmarkTable, BlockTable, Duration
from whylate.wire.constants import MOST_CLOCK_THREADS
from whylate.wire.messages import BenchClock, BenchSharedClock


class ClockTable(BlockTable, kw_only=True):
    """[clock]."""

    clocks: tuple[str, ...] = CLOCK_NAMES
    threads: tuple[int, ...] = (1,)
    via: tuple[How, ...] = ("libc",)
    service: Duration | None = None
    think: Duration | None = None
    remedy: tuple[Remedy, ...] = ()

    def workload(self) -> Workload:
        """Return clocks and their readers; one that is not the kernel's has one way to read it."""
        device = (int(self.service or 0), int(self.think or 0))
        points = [
            ClockPoint(name, number, way, *(device if way == "device" else (0, 0)), remedy=remedy)
            for way in self.via
            for name in (self.clocks if way in KERNEL_HOWS else (way,))
            for remedy in self.remedy or (None,)
            for number in self.threads
        ]
        return Clock(points=points, **self.common())


class ClockRules(BenchmarkRules):
    """Clock reads."""

    table: ClassVar[type[BenchmarkTable] | None] = ClockTable
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "clocks": ("clock", one_of(tuple(CLOCKS))),
        "threads": ("threads", parse_count),
        "via": ("how", one_of(KERNEL_HOWS)),
        "remedy": ("remedy", one_of(REMEDIES)),
    }

    def check_point(self, point: ClockPoint) -> None:
        """Raise RequestError for an invalid clock or reader."""
        if point.how in KERNEL_HOWS and point.clock not in CLOCKS:
            raise RequestError(
                f"--clocks: unknown clock {point.clock[:40]!r}, expected one of {', '.join(CLOCKS)}"
            )
        if point.how in KERNEL_HOWS and point.remedy is not None:
            raise RequestError("--remedy shares the reads of a device: only with --via device,hpet")
        if not 1 <= point.threads <= MOST_CLOCK_THREADS:
            raise RequestError(f"--threads must lie between 1 and {MOST_CLOCK_THREADS}")
        if point.how == "device" and not 100 <= point.service_ns <= 1_000_000_000:
            raise RequestError("--via device needs --service, between 100ns and 1s")
        if point.how == "device" and not 0 <= point.think_ns <= 10_000_000_000:
            raise RequestError("--think must lie between 0 and 10s")

    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Accept any number of CPUs."""

    def pin(
        self, point: ClockPoint, cpus: Sequence[int] | None, available: Sequence[int]
    ) -> ClockPoint:
        """Spread the threads over the requested CPUs, or over all."""
        return msgspec.structs.replace(point, cpus=tuple(cpus or available))

    def has(self, point: ClockPoint, field: str) -> bool:
        """Return whether a field means something at a point."""
        if field == "remedy":
            return point.how not in KERNEL_HOWS
        return field not in ("clock", "how") or point.how in KERNEL_HOWS

    def command(
        self, workload: Clock, point: ClockPoint, turn: int
    ) -> BenchClock | BenchSharedClock:
        """Return the command that measures a point in a turn."""
        if point.remedy is not None:
            return BenchSharedClock(
                turn=turn,
                method=HOWS.index(point.how),
                form=REMEDIES.index(point.remedy),
                threads=point.threads,
                service_ns=point.service_ns,
                think_ns=point.think_ns,
                block_ns=workload.block_ns,
                repetitions=workload.repetitions,
                cpus=point.cpus,
            )
        return BenchClock(
            turn=turn,
            clock=CLOCKS.get(point.clock, 0),
            method=HOWS.index(point.how),
            threads=point.threads,
            service_ns=point.service_ns,
            think_ns=point.think_ns,
            block_ns=workload.block_ns,
            repetitions=workload.repetitions,
            cpus=point.cpus,
        )
