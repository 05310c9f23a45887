"""The benchmark `bulk`: work in bulk under one lock, in chunks, and for how long others wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from whylate.quantities import format_count
from whylate.recording.bounds import BlockNs, Cpu, Small
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload
from whylate.recording.workloads.point_names import cpus_text


class BulkPoint(BenchmarkPoint, frozen=True):
    """Lines of the cache that are cleaned in chunks. chunk: in lines; 0: what the tuner chooses."""

    details: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "lines": lambda point: f"{format_count(point.lines)} lines",
        "cpu": lambda point: cpus_text(point.used_cpus),
    }

    chunk: Small
    lines: Small = 16_384
    #: None: the scheduler chooses.
    cpu: Cpu | None = None

    @property
    def name(self) -> str:
        """As "chunks of 128"."""
        if not self.chunk:
            return "the tuner's chunks"
        return "all at once" if self.chunk >= self.lines else f"chunks of {self.chunk}"

    @property
    def series_name(self) -> str:
        """Chunks are swept, and the tuner's are beside them."""
        return "chunks" if self.chunk else "the tuner's chunks"

    @property
    def used_cpus(self) -> tuple[int, ...]:
        """The CPU that does the work."""
        return () if self.cpu is None else (self.cpu,)


class Bulk(BenchmarkWorkload, frozen=True, kw_only=True, tag="bulk"):
    """Bulk work in chunks."""

    columns: ClassVar[tuple[str, ...]] = (
        "ns", "passes", "holds", "delays", "p50_ns", "p99_ns", "most_ns"
    )  # fmt: skip

    points: list[BulkPoint]
    block_ns: BlockNs = 200_000_000
