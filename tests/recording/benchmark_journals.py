"""Journals of benchmarks, written down by hand as a probe would send them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from journals import opening, write_journal
from msgspec.structs import replace

from benchmark_plans import benchmark
from whylate.recording.workloads import Benchmark
from whylate.recording.workloads.benchmarks import BenchmarkPoint, CounterPlan
from whylate.wire.messages import Message, Result


def plan_of(
    points: Sequence[BenchmarkPoint],
    *,
    rounds: int = 2,
    repetitions: int = 2,
    counters: Sequence[CounterPlan] = (),
) -> Benchmark:
    """Return a plan whose rounds have the points in their order."""
    order = list(range(len(points))) * rounds
    return benchmark(
        points,
        rounds=rounds,
        repetitions=repetitions,
        block_ns=1_000_000,
        order=order,
        counters=list(counters),
    )


def benchmark_journal(
    directory: Path, plan: Benchmark, *messages: Message, ended: bool = True
) -> Path:
    """Write the journal of a run."""
    begun = opening(None)
    whole = replace(begun.plan, workload=plan)
    sent = [*messages, *([Result(1_000, 1_000)] if ended else [])]
    return write_journal(directory, replace(begun, plan=whole), sent, ended=ended)
