"""Summaries of benchmarks made up for pages and screens."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from benchmark_plans import benchmark
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.point_names import point_names
from whylate.recording.workloads.switch import SwitchPoint
from whylate.summary.benchmarks.model import (
    BenchmarkSummary,
    Curve,
    Measured,
    NetworkFigures,
    PointFigures,
    Prediction,
)
from whylate.summary.benchmarks.summarizer import Measurement
from whylate.summary.model import Caution, Trust
from whylate.summary.workloads import SUMMARIZERS
from whylate.summary.workloads.clock import ClockSummarizer, network_lines
from whylate.summary.workloads.memory import MemorySummarizer
from whylate.summary.workloads.switch import SwitchSummarizer

HOSTILE = "<script>alert(1)</script>\x1b[31m"


def around(value: float) -> Measured:
    return Measured(value, value * 0.9, value * 1.2)


def summary(
    points: Sequence[BenchmarkPoint],
    found: Sequence[PointFigures],
    *,
    networks: Sequence[NetworkFigures] = (),
    curves: Sequence[Curve] = (),
) -> BenchmarkSummary:
    refused = [point for point in found if point.refused]
    workload = benchmark(points)
    summarizer = SUMMARIZERS[type(workload)]
    return BenchmarkSummary(
        recording="recordings/x", board=f"board{HOSTILE}", state="complete",
        created="2026-01-01T00:00:00+00:00", kernel="6.1", cpu_model="Cortex-A9",
        workload=workload.kind, title=summarizer.title, counts_per=summarizer.counts_per,
        models=[line for network in networks for line in network_lines(network)],
        curves=list(curves), common="small pages, libc, CPU 0", rounds=10,
        repetitions=5,
        trust=Trust("no verdict", [f"{point.name}: {point.refused}." for point in refused])
        if refused else Trust("ok", []),
        points=list(found), networks=list(networks), findings=[], loads=[],
        warnings=[Caution("steal", "The hypervisor took 1 s.")], interval_note="95 %",
    )  # fmt: skip


def memory() -> BenchmarkSummary:
    kinds = [MemoryPoint("copy", 64, "untouched"), MemoryPoint("copy", 64), MemoryPoint("set", 64)]
    points: list[BenchmarkPoint] = [
        replace(one, size=size << 20) for one in kinds for size in (1, 4, 64, 1024)
    ]
    found = [
        MemorySummarizer.present(name, point, 10, 50, Measurement(
            {"gb_per_s": around(30 - 2 * (at % 4) - at)},
            {"backing": "zero page", "frames": 1, "pages": 9},
            note="write bandwidth (zero page)" if at < 4 else "",
        ))
        for at, (name, point) in enumerate(zip(point_names(points), points, strict=True))
    ]  # fmt: skip
    found[-1] = PointFigures(found[-1].name, points[-1], 0, 0, refused=f"no memory{HOSTILE}")
    return summary(points, found)


def switch() -> BenchmarkSummary:
    points: list[BenchmarkPoint] = [SwitchPoint(tasks) for tasks in (2, 4, 6, 7, 8, 20, 64)]
    found = [
        SwitchSummarizer.present(name, point, 10, 50, Measurement(
            {"ns_per_switch": around(1000 + 300 * (at > 2)), "ns_per_hop": around(1400)},
            {"switches": 900, "hops": 900, "flushes_per_switch": 0.99 * (at > 2)},
        ))
        for at, (name, point) in enumerate(zip(point_names(points), points, strict=True))
    ]  # fmt: skip
    return summary(points, found)


def clock() -> BenchmarkSummary:
    points: list[BenchmarkPoint] = [ClockPoint("monotonic", n, "syscall") for n in (1, 2, 3, 4)]
    found = [
        ClockSummarizer.present(name, point, 10, 50, Measurement(
            {"ns_per_call": around(3000 + 900 * at), "calls_per_us": around(0.3 + 0.1 * at)},
            {"system_call": True, "resolution_ns": 1, "checks": 12345 + at,
             "backward_steps": 0, "most_backward_ns": 0},
        ))
        for at, (name, point) in enumerate(zip(point_names(points), points, strict=True))
    ]  # fmt: skip
    predicted = [Prediction(72, around(1.1)), Prediction(240, around(1.11))]
    network = NetworkFigures("monotonic by syscall", [1, 2, 3, 4], around(2000), around(900),
                             predicted, misfit=1.03, off=1.07)  # fmt: skip
    (*_, caption) = found[0].plots
    curve = Curve(caption, network.name, [(1, 0.34), (4, 0.9)])
    return summary(points, found, networks=[network], curves=[curve])
