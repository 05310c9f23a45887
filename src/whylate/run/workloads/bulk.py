"""Running the benchmark `bulk`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec

from whylate.recording.workloads import Workload
from whylate.recording.workloads.bulk import Bulk, BulkPoint
from whylate.run.errors import RequestError
from whylate.run.sweeps import parse_chunk
from whylate.run.workloads.rules import LEAST_BLOCK_NS, BenchmarkRules, Parameter
from whylate.run.workloads.tables import BenchmarkTable, BlockTable
from whylate.wire.constants import MOST_BULK_LINES
from whylate.wire.messages import BenchBulk

#: In lines, by default: around the knee of a desktop CPU, one line, all, and the tuner's choice.
CHUNKS = (1, 16, 128, 512, MOST_BULK_LINES, 0)
#: Nothing else runs on the CPU meanwhile.
_LONGEST_BLOCK_NS = 1_000_000_000
#: In the command of a turn: the scheduler chooses the CPU.
ANY_CPU = 0xFFFF


class BulkTable(BlockTable, kw_only=True):
    """[bulk]. chunk: in lines; 0: what the tuner chooses."""

    lines: int = 16_384
    chunk: tuple[int, ...] = CHUNKS

    def workload(self) -> Workload:
        """Return the chunks; those above all lines are all of them."""
        chunks = dict.fromkeys(min(chunk, self.lines) for chunk in self.chunk)
        return Bulk(points=[BulkPoint(chunk, self.lines) for chunk in chunks], **self.common())


class BulkRules(BenchmarkRules):
    """Bulk work in chunks."""

    table: ClassVar[type[BenchmarkTable] | None] = BulkTable
    parameters: ClassVar[Mapping[str, Parameter]] = {"chunk": ("chunk", parse_chunk)}

    def check_point(self, point: BulkPoint) -> None:
        """Raise RequestError for an invalid number of lines."""
        if not 1 <= point.lines <= MOST_BULK_LINES:
            raise RequestError(f"--lines must lie between 1 and {MOST_BULK_LINES}")
        if not 0 <= point.chunk <= MOST_BULK_LINES:
            raise RequestError(f"--chunk must lie between 1 and {MOST_BULK_LINES}")

    def check_block(self, block_ns: int) -> None:
        """Raise RequestError for repetitions that keep other programs off the CPU for long."""
        if not LEAST_BLOCK_NS <= block_ns <= _LONGEST_BLOCK_NS:
            raise RequestError("--block must lie between 100us and 1s for bulk work")

    def check_cpus(self, cpus: Sequence[int]) -> None:
        """Raise RequestError for more than one CPU."""
        if len(cpus) > 1:
            raise RequestError("--cpus: one CPU does the work: name one")

    def pin(
        self, point: BulkPoint, cpus: Sequence[int] | None, available: Sequence[int]
    ) -> BulkPoint:
        """Pin the work to the requested CPU, or to the first."""
        return msgspec.structs.replace(point, cpu=(cpus or available)[0])

    def command(self, workload: Bulk, point: BulkPoint, turn: int) -> BenchBulk:
        """Return the command that measures a point in a turn."""
        return BenchBulk(
            turn=turn,
            lines=point.lines,
            chunk=point.chunk,
            block_ns=workload.block_ns,
            repetitions=workload.repetitions,
            cpu=ANY_CPU if point.cpu is None else point.cpu,
        )
