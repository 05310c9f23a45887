"""Recordings of sweeps over threads, tasks and chunks, made from figures for each number."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
from msgspec.structs import replace

from app_runs import app_manifest
from benchmark_plans import benchmark
from whylate.recording.plan import RunPlan
from whylate.recording.reader import Recording, open_recording
from whylate.recording.repetitions import Repetitions
from whylate.recording.store.repetitions import write_repetitions
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.bulk import BulkPoint
from whylate.recording.workloads.clock import ClockPoint, Remedy
from whylate.recording.workloads.switch import SwitchPoint

ROUNDS = 6
BLOCK_NS = 10**9


def record_clock(
    directory: Path,
    calls_per_us: Mapping[int, float],
    *,
    created: str = "2026-01-01T00:00:00+00:00",
    noise: float = 0.0,
    cpus: int = 64,
    seed: int = 0,
) -> Recording:
    """Write a recording of a clock by number of threads; noise: sd of logarithms of a round."""
    rng = np.random.default_rng(seed)
    points = [ClockPoint("monotonic", threads) for threads in calls_per_us]
    rates = [
        calls_per_us[point.threads] * float(np.exp(noise * rng.standard_normal()))
        for point in points * ROUNDS
    ]
    return _write_clock(directory, points, rates, created, cpus)


def record_forms(
    directory: Path,
    calls_per_us: Mapping[Remedy | None, Mapping[int, float]],
    *,
    point: ClockPoint | None = None,
    created: str = "2026-01-01T00:00:00+00:00",
    cpus: int = 64,
) -> Recording:
    """Write a recording of reads in these forms, by number of threads; point: of the HPET."""
    point = point or ClockPoint("hpet", how="hpet")
    points = [
        replace(point, threads=threads, remedy=form)
        for form, by_threads in calls_per_us.items()
        for threads in by_threads
    ]
    rates = [calls_per_us[each.remedy][each.threads] for each in points]
    return _write_clock(directory, points, rates * ROUNDS, created, cpus)


def _write_clock(
    directory: Path, points: list[ClockPoint], rates: list[float], created: str, cpus: int
) -> Recording:
    rows = []
    for turn, rate in enumerate(rates):
        threads = points[turn % len(points)].threads
        calls = round(rate * BLOCK_NS / 1e3 / threads)
        rows += [{"turn": turn, "thread": n, "ns": BLOCK_NS, "calls": calls}
                 for n in range(threads)]  # fmt: skip
    return _write(directory, points, rows, created, cpus)


def record_switch(
    directory: Path,
    ns_per_hop: Mapping[int, float],
    *,
    created: str = "2026-01-01T00:00:00+00:00",
) -> Recording:
    """Write a recording of rings of tasks, by number of tasks."""
    points = [SwitchPoint(tasks, cpus=(0,)) for tasks in ns_per_hop]
    rows = [
        {"turn": turn, "ring_ns": round(1000 * ns_per_hop[tasks]), "own_ns": 1, "hops": 1000,
         "switches": 1000}
        for turn, tasks in enumerate(list(ns_per_hop) * ROUNDS)
    ]  # fmt: skip
    return _write(directory, points, rows, created, 1)


def record_chunks(
    directory: Path,
    figures: Mapping[int, tuple[int, int, int]],
    *,
    created: str = "2026-01-01T00:00:00+00:00",
    lines: int = 16_384,
    delays: int = 2000,
) -> Recording:
    """Write a recording of work in chunks: ns of the work, of the p50 and of the p99, by chunk."""
    points = [BulkPoint(chunk, lines, cpu=0) for chunk in figures]
    rows = [
        {"turn": turn, "ns": 10 * figures[chunk][0], "passes": 10, "holds": 10, "delays": delays,
         "p50_ns": figures[chunk][1], "p99_ns": figures[chunk][2], "most_ns": figures[chunk][2]}
        for turn, chunk in enumerate(list(figures) * ROUNDS)
    ]  # fmt: skip
    return _write(directory, points, rows, created, 1)


def _write(
    directory: Path,
    points: list[ClockPoint] | list[SwitchPoint] | list[BulkPoint],
    rows: list[dict[str, int]],
    created: str,
    cpus: int,
) -> Recording:
    every: list[BenchmarkPoint] = list(points)
    plan = benchmark(
        every,
        rounds=ROUNDS,
        repetitions=1,
        block_ns=BLOCK_NS,
        order=list(range(len(every))) * ROUNDS,
    )
    whole = RunPlan(workload=plan, cpus=list(range(cpus)))
    manifest = replace(app_manifest([]), plan=whole, cpus=[], recorder=None, created=created)
    names = ("turn", "repetition", *plan.columns)
    columns = {name: np.array([row.get(name, 0) for row in rows], np.int64) for name in names}
    columns["point"] = np.array([plan.order[row["turn"]] for row in rows], np.int64)
    directory.mkdir(parents=True)
    (directory / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    write_repetitions(directory, plan, Repetitions(columns, None, {}))
    return open_recording(directory)
