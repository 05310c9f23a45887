"""Journals of the executions of a section, written down by hand as a probe would send them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from journals import START, opening, write_journal
from msgspec.structs import replace
from section_journals import PARTS

from leb128 import leb128, zigzag
from whylate.recording.waits import bin_of
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.section import KernelFunction, Section
from whylate.wire.messages import (
    CpuResult,
    CpuStarted,
    ExecutionBins,
    ExecutionCounts,
    Executions,
    Message,
    Result,
    SectionResult,
    SectionStarted,
)

SECOND = 1_000_000_000
STARTED = SectionStarted(2, 1, 15, 100_000_000, 7)


def executions(durations_ns: Sequence[int], first: int = 0) -> Executions:
    """Return a block of executions of thread 301 on CPU 0, 1 ms apart."""
    data = b"".join(
        leb128(zigzag(1_000_000)) + b"".join(leb128(n) for n in (ns, 301, 1, *[0] * PARTS))
        for ns in durations_ns
    )
    return Executions(0, len(durations_ns), first, data)


def counts(rows: Sequence[tuple[int, ...]], first: int = 0) -> ExecutionCounts:
    """Return the block of their counts."""
    data = b"".join(leb128(value) for row in rows for value in row)
    return ExecutionCounts(0, len(rows), first, data)


def section_journal(
    directory: Path,
    durations_ns: Sequence[int],
    *messages: Message,
    counters: Sequence[str] = (),
    started: Message = STARTED,
) -> Path:
    """Write the journal of a second's run; durations_ns: of all executions that were kept."""
    begun = opening(None)
    workload = Section(
        duration_ns=SECOND,
        place=KernelFunction("f"),
        counters=[CounterPlan(name, 1, 0, 0) for name in counters],
    )
    bins = sorted(bin_of(ns) for ns in durations_ns)
    steps = [b - a for a, b in zip([0, *bins], bins, strict=False)]
    n = len(durations_ns)
    sent = [
        started,
        CpuStarted(0, 0, 0, 0, START, START + SECOND, 0),
        *messages,
        *_bins(bins, steps),
        SectionResult(n, n, 0, 0, 0, 0, 0, 0),
        CpuResult(0, 0, 0, 0, START, START + SECOND, n, 0, 0),
        Result(1_000, 1_000),
    ]
    plan = replace(begun.plan, workload=workload, cpus=[0])
    return write_journal(directory, replace(begun, plan=plan), sent, ended=True)


def _bins(bins: Sequence[int], steps: Sequence[int]) -> list[Message]:
    rows = [(step, bins.count(number)) for number, step in zip(bins, steps, strict=True) if step]
    if not rows:
        return []
    data = b"".join(leb128(zigzag(step)) + leb128(count) for step, count in rows)
    return [ExecutionBins(0, len(rows), data)]
