"""Benchmarks from their points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whylate.recording.workloads import Benchmark
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.bulk import Bulk, BulkPoint
from whylate.recording.workloads.clock import Clock, ClockPoint
from whylate.recording.workloads.command import Command, CommandPoint
from whylate.recording.workloads.flush import Flush, FlushPoint
from whylate.recording.workloads.memory import Memory, MemoryPoint
from whylate.recording.workloads.off import Off, OffPoint
from whylate.recording.workloads.offsets import OffsetPoint, Offsets
from whylate.recording.workloads.switch import Switch, SwitchPoint

_OF: dict[type[BenchmarkPoint], type[Benchmark]] = {
    SwitchPoint: Switch,
    MemoryPoint: Memory,
    ClockPoint: Clock,
    CommandPoint: Command,
    OffPoint: Off,
    BulkPoint: Bulk,
    FlushPoint: Flush,
    OffsetPoint: Offsets,
}


def benchmark(points: Sequence[BenchmarkPoint], **fields: Any) -> Benchmark:
    """Return the benchmark of these points."""
    only: Any = list(points)
    return _OF[type(points[0])](points=only, **fields)
