"""Workloads as a user writes them: the tables of a study's plan, and the options of a command."""

from __future__ import annotations

from typing import Any

import msgspec

from whylate.quantities import parse_ns
from whylate.recording.bounds import Small
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.run.errors import RequestError
from whylate.run.sweeps import parse_size


class Duration(int):
    """A time in ns; a text like 50ms is converted when a table is read."""


class Size(int):
    """A size in bytes; a text like 64k is converted when a table is read."""


def parse_duration(key: str, text: str) -> int:
    """Return a time in ns; raises RequestError that names its key."""
    ns = parse_ns(text, latency=False)
    if ns is None:
        raise RequestError(f"{key} = {text[:40]!r}: invalid time, write it like 20s, 500us or 2h")
    return ns


class WorkloadTable(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The table of a workload."""

    def workload(self) -> Workload:
        """Return the workload; raises RequestError."""
        raise NotImplementedError


class BenchmarkTable(WorkloadTable, kw_only=True):
    """What every benchmark has. rounds: few, since a study compares runs."""

    rounds: Small = 3
    counters: list[str] = []

    def common(self) -> dict[str, Any]:
        """Return the fields that every benchmark has."""
        return {"rounds": self.rounds, "counters": [CounterPlan(name) for name in self.counters]}


class BlockTable(BenchmarkTable, kw_only=True):
    """What a benchmark has whose repetitions are blocks. block None: its own default."""

    repetitions: int = 5
    block: Duration | None = None
    free: bool = False

    def common(self) -> dict[str, Any]:
        """Return the fields that every such benchmark has."""
        block = {} if self.block is None else {"block_ns": int(self.block)}
        return {**super().common(), **block, "repetitions": self.repetitions, "free": self.free}


def workload_of(table: WorkloadTable) -> Workload:
    """Return the workload of a table; raises RequestError, for one that measures nothing too."""
    try:
        return table.workload()
    except ValueError as error:
        raise RequestError(f"{error}: each list of its table needs a value") from None


def read_table(kind: type[WorkloadTable], raw: Any) -> WorkloadTable:
    """Convert a table as a user wrote it; raises RequestError, msgspec.ValidationError."""
    return msgspec.convert(raw, type=kind, dec_hook=_quantity)


def _quantity(kind: type[Any], value: Any) -> Any:
    text = str(value)
    if kind is Duration:
        ns = parse_ns(text, latency=False)
        if ns is None:
            raise RequestError(f"{text[:40]!r}: invalid time, write it like 1us or 50ms")
        return Duration(ns)
    size = parse_size(text)
    if size is None:
        raise RequestError(f"{text[:40]!r}: invalid size, write it like 4k or 64M")
    return Size(size)
