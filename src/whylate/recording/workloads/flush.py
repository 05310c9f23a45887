"""The benchmark `flush`: what a CPU pays for translations that another one makes invalid."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal, get_args

from whylate.recording.bounds import BlockNs, Count, Cpu, Small
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload
from whylate.recording.workloads.point_names import count_text, cpus_text, size_text

Call = Literal["munmap", "mprotect"]
By = Literal[Call, "switch"]
#: In the order of their numbers on the wire (schema/wire.toml).
CALLS: tuple[Call, ...] = get_args(Call)
BYS: tuple[By, ...] = (*CALLS, "switch")


class FlushPoint(BenchmarkPoint, frozen=True):
    """Flushes beside a victim. set_bytes: what the victim reads. cpus: the caller's, the victim's.

    Of calls, pages: of each; every_ns: from call to call. Of switches, tasks: whose address spaces
    are switched; pages and every_ns are 0. No CPUs: the first two.
    """

    details: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "set_bytes": lambda point: (
            f"set of {size_text(point.set_bytes)}" if point.set_bytes else "no set"
        ),
        "every_ns": lambda point: "" if point.is_switch else f"every {point.every_ns} ns",
        "cpus": lambda point: cpus_text(point.cpus),
    }

    by: By
    pages: Small = 1
    set_bytes: Count = 0
    every_ns: BlockNs = 50_000
    cpus: tuple[Cpu, ...] = ()
    tasks: Small = 0

    @property
    def is_switch(self) -> bool:
        """Whether address spaces are switched, and no call is made."""
        return self.by == "switch"

    @property
    def name(self) -> str:
        """As "munmap of 1 page"."""
        if self.is_switch:
            return f"switch between {count_text(self.tasks, 'task')}"
        return f"{self.by} of {count_text(self.pages, 'page')}"

    @property
    def series_name(self) -> str:
        """Pages, or tasks, are swept."""
        return self.by

    @property
    def used_cpus(self) -> tuple[int, ...]:
        """The caller's, and the victim's."""
        return self.cpus


class Flush(BenchmarkWorkload, frozen=True, kw_only=True, tag="flush"):
    """Flushes of translations beside a victim.

    Each repetition has three blocks in random order: the calls change the victim's address space
    (shared), another one (other), or none are made (idle). Of switches: between processes (shared),
    between threads (other), or none; the calls are the switches then.
    """

    columns: ClassVar[tuple[str, ...]] = (
        "shared_ns", "shared_units", "shared_calls", "shared_flushes",
        "other_ns", "other_units", "other_calls", "other_flushes", "idle_ns", "idle_units",
    )  # fmt: skip

    points: list[FlushPoint]
