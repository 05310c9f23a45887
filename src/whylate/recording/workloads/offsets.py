"""The benchmark `offsets`: how far the clocks of CPUs are apart, and how their rates differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from whylate.recording.bounds import BlockNs, Cpu, Small
from whylate.recording.workloads.benchmarks import BenchmarkPoint, BenchmarkWorkload


class OffsetPoint(BenchmarkPoint, frozen=True):
    """A clock on two CPUs. cpus: the first, and the second; none: the first with each other.

    shift_ns, drift_ppb: added to what the second reads, the drift for each ns of the clock, to see
    whether the measurement shows it; 0: what it really reads.
    """

    details: ClassVar[Mapping[str, Callable[[Any], str]]] = {
        "clock": lambda point: point.clock,
        "shift_ns": lambda point: f"{point.shift_ns:+d} ns added" if point.shift_ns else "",
        "drift_ppb": lambda point: f"{point.drift_ppb:+d} ppb added" if point.drift_ppb else "",
    }

    clock: str
    cpus: tuple[Cpu, ...] = ()
    shift_ns: Small = 0
    drift_ppb: Small = 0

    @property
    def name(self) -> str:
        """As "CPU 1 against CPU 0"."""
        if len(self.cpus) < 2:
            return "each CPU"
        return f"CPU {self.cpus[1]} against CPU {self.cpus[0]}"

    @property
    def used_cpus(self) -> tuple[int, ...]:
        """Both."""
        return self.cpus


class Offsets(BenchmarkWorkload, frozen=True, kw_only=True, tag="offsets"):
    """Clocks of CPUs beside each other; of each repetition the quickest exchange."""

    columns: ClassVar[tuple[str, ...]] = ("exchanges", "begin_ns", "peer_ns", "end_ns")

    points: list[OffsetPoint]
    block_ns: BlockNs = 10_000_000
