"""Running the benchmark `memory`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import ClassVar

import msgspec

from whylate.recording.workloads import Workload
from whylate.recording.workloads.memory import (
    PAGES,
    ROUTINES,
    SOURCES,
    WHATS,
    Memory,
    MemoryPoint,
    Pages,
    Routine,
    Source,
    What,
)
from whylate.run.errors import RequestError
from whylate.run.sweeps import parse_size
from whylate.run.workloads.rules import BenchmarkRules, Parameter, one_of
from whylate.run.workloads.tables import BenchmarkTable, BlockTable, Size
from whylate.wire.constants import LARGEST_BUFFER, SMALLEST_BUFFER
from whylate.wire.messages import BenchMemory

#: Sizes of buffers by default.
SIZES = (1 << 20, 4 << 20, 64 << 20)
#: In the command of a turn: the scheduler chooses the CPU.
ANY_CPU = 0xFFFF


def has_parameter(what: What, field: str) -> bool:
    """Return whether an operation on a buffer has a source, or calls a routine."""
    if field == "source":
        return what in ("copy", "read")
    return field != "routine" or what != "latency"


class MemoryTable(BlockTable, kw_only=True):
    """[memory]."""

    ops: tuple[What, ...] = ("copy", "set", "read")
    sizes: tuple[Size, ...] = tuple(map(Size, SIZES))
    source: tuple[Source, ...] = ("random",)
    pages: tuple[Pages, ...] = ("small",)
    routine: tuple[Routine, ...] = ("libc",)

    def workload(self) -> Workload:
        """Return the buffers, without a source or routine if the operation has none."""
        points: dict[MemoryPoint, None] = {}
        swept = product(self.ops, self.pages, self.sizes, self.source, self.routine)
        for operation, kind, size, content, how in swept:
            point = MemoryPoint(operation, int(size), pages=kind)
            if has_parameter(operation, "source"):
                point = msgspec.structs.replace(point, source=content)
            if has_parameter(operation, "routine"):
                point = msgspec.structs.replace(point, routine=how)
            points[point] = None
        return Memory(points=list(points), **self.common())


class MemoryRules(BenchmarkRules):
    """Memory throughput and latency."""

    table: ClassVar[type[BenchmarkTable] | None] = MemoryTable
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "ops": ("what", one_of(WHATS)),
        "sizes": ("size", parse_size),
        "source": ("source", one_of(SOURCES)),
        "pages": ("pages", one_of(PAGES)),
        "routine": ("routine", one_of(ROUTINES)),
    }

    def check_point(self, point: MemoryPoint) -> None:
        """Raise RequestError for an invalid buffer."""
        if not SMALLEST_BUFFER <= point.size <= LARGEST_BUFFER:
            raise RequestError("--sizes must lie between 4 KiB and 64 TiB")
        if point.size % 64:
            raise RequestError(f"--sizes: {point.size} bytes are not whole lines of 64")

    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Raise RequestError for more than one CPU."""
        if len(cpus) > 1:
            raise RequestError("--cpus: one CPU uses a buffer at a time: name one")

    def pin(
        self, point: MemoryPoint, cpus: Sequence[int] | None, available: Sequence[int]
    ) -> MemoryPoint:
        """Pin a buffer to the requested CPU, or to the first."""
        return msgspec.structs.replace(point, cpu=(cpus or available)[0])

    def has(self, point: MemoryPoint, field: str) -> bool:
        """Return whether a field means something at a point."""
        return has_parameter(point.what, field)

    def command(self, workload: Memory, point: MemoryPoint, turn: int) -> BenchMemory:
        """Return the command that measures a point in a turn."""
        return BenchMemory(
            turn=turn,
            operation=WHATS.index(point.what),
            source=SOURCES.index(point.source),
            pages=PAGES.index(point.pages),
            routine=ROUTINES.index(point.routine),
            size=point.size,
            block_ns=workload.block_ns,
            repetitions=workload.repetitions,
            cpu=ANY_CPU if point.cpu is None else point.cpu,
        )
