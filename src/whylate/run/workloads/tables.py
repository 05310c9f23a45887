"""Benchmarks as a user writes them: the tables of a study's plan, and the options of a command."""

from __future__ import annotations

from typing import Any

import msgspec

from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import CounterPlan


class Duration(int):
    """A time in ns; a text like 50ms is converted when a table is read."""


class Size(int):
    """A size in bytes; a text like 64k is converted when a table is read."""


class BenchmarkTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What every benchmark is asked. rounds: few, for what a study compares is runs."""

    rounds: int = 3
    counters: list[str] = []

    def common(self) -> dict[str, Any]:
        """Return the fields that every benchmark has."""
        return {"rounds": self.rounds, "counters": [CounterPlan(name) for name in self.counters]}

    def workload(self) -> Workload:
        """Return the workload; raises RequestError."""
        raise NotImplementedError


class BlockTable(BenchmarkTable, kw_only=True):
    """What a benchmark is asked whose repetitions are blocks. block None: its own default."""

    repetitions: int = 5
    block: Duration | None = None
    free: bool = False

    def common(self) -> dict[str, Any]:
        """Return the fields that every such benchmark has."""
        block = {} if self.block is None else {"block_ns": int(self.block)}
        return {**super().common(), **block, "repetitions": self.repetitions, "free": self.free}
