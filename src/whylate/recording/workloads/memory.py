"""The benchmark `memory`: copying, setting, reading a buffer, and the latency of its lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, get_args

from whylate.recording.bounds import BlockNs, Count, Cpu
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload
from whylate.recording.workloads.point_names import cpus_text, size_text

What = Literal["copy", "set", "read", "latency"]
Source = Literal["untouched", "zeros", "random"]
Pages = Literal["small", "thp", "hugetlb", "as-set"]
Routine = Literal["libc", "plain"]
#: In the order of their numbers on the wire (schema/wire.toml).
WHATS: tuple[What, ...] = get_args(What)
SOURCES: tuple[Source, ...] = get_args(Source)
PAGES: tuple[Pages, ...] = get_args(Pages)
ROUTINES: tuple[Routine, ...] = get_args(Routine)


class MemoryPoint(BenchmarkPoint, frozen=True):
    """A buffer and what is done with it. source: the contents that copy and read find."""

    details: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "source": lambda point: f"{point.source} source" if point.what in ("copy", "read") else "",
        "pages": lambda point: f"{point.pages} pages",
        "routine": lambda point: str(point.routine),
        "cpu": lambda point: cpus_text(point.used_cpus),
    }

    what: What
    size: Count
    source: Source = "random"
    pages: Pages = "small"
    routine: Routine = "libc"
    #: None: the scheduler chooses.
    cpu: Cpu | None = None

    @property
    def name(self) -> str:
        """As "copy 64 KiB"."""
        return f"{self.what} {size_text(self.size)}"

    @property
    def series_name(self) -> str:
        """Sizes are swept: the operation."""
        return str(self.what)

    @property
    def used_cpus(self) -> tuple[int, ...]:
        """The CPU that uses the buffer."""
        return () if self.cpu is None else (self.cpu,)


class Memory(BenchmarkWorkload, frozen=True, kw_only=True, tag="memory"):
    """Memory throughput and latency."""

    columns: ClassVar[tuple[str, ...]] = ("ns", "passes")

    points: list[MemoryPoint]
    block_ns: BlockNs = 20_000_000
