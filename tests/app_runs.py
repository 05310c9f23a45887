"""Runs of a watched program made from arrays: what a recording of one would hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whylate.recording.manifest import CpuAccount, Manifest, ProbeReport, RecorderReport, ThreadName
from whylate.recording.plan import RunPlan
from whylate.recording.samples import CpuSamples, Woken
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.app import App, CommTarget, Target

MS = 1_000_000
SECOND = 1_000 * MS
TIMER, INTERRUPT, SOFTIRQ, THREAD = 1, 2, 3, 4
REPORT = RecorderReport("bpf", None, 4096, [], 0, 0, 0, 0, None, None)


def woken_cpu_series(
    due_ns: Sequence[int] | NDArray[np.int64],
    latency_ns: Sequence[int] | NDArray[np.int64],
    pid: int | Sequence[int] | NDArray[np.int64] = 301,
    *,
    cpu: int = 0,
    end_ns: int | None = None,
) -> CpuSamples:
    """Return the samples of a CPU; the rows are put in the order in which they were due."""
    due = np.asarray(due_ns, np.int64)
    order = np.argsort(due, kind="stable")
    pids = np.broadcast_to(np.asarray(pid, np.int32), due.shape)
    end = end_ns if end_ns is not None else int(due.max(initial=0)) + MS
    woken = Woken(due[order], pids[order], np.full(due.size, TIMER, np.int8), end)
    latency = np.asarray(latency_ns, np.int64)
    none = np.zeros(due.size, np.bool_)
    return CpuSamples(cpu, 0, 0, np.arange(due.size)[order], latency[order], none, woken=woken)


def app_manifest(
    series: Sequence[CpuSamples],
    *,
    app: Target | None = None,
    names: dict[int, str] | None = None,
    recorder: RecorderReport | None = REPORT,
    dropped: int = 0,
) -> Manifest:
    """Return the manifest of these samples."""
    plan = RunPlan(
        workload=App(
            duration_ns=10 * SECOND,
            recorder=RecorderPlan("best", None, 2000, 1000),
            target=app or CommTarget("pacer"),
        ),
        cpus=[cpu_series.cpu for cpu_series in series],
    )
    accounts = []
    for cpu_series in series:
        seen, end_ns = cpu_series.latency_ns.size, cpu_series.start_ns + cpu_series.watched_ns
        accounts.append(CpuAccount(cpu_series.cpu, cpu_series.start_ns, end_ns, seen + dropped,
                                   seen, 0, dropped, "other", 0, False))  # fmt: skip
    probe = ProbeReport("0", "x86_64", "", None, None, 1, 20, 0, 0, 0, 0)
    return Manifest(
        "whylate-recording", 6, "complete", "2026-01-01T00:00:00+00:00", "0", "b",
        "CLOCK_MONOTONIC", plan, accounts, [], [], [], probe, [], recorder=recorder,
        threads=[ThreadName(pid, name) for pid, name in (names or {}).items()],
    )  # fmt: skip


def several_threads(count: int = 20, each: int = 2_000) -> list[CpuSamples]:
    """Return two CPUs on which `count` threads wake, the one with the highest pid the latest."""
    rng = np.random.default_rng(7)
    series = []
    for cpu in range(2):
        pid = np.tile(np.arange(300, 300 + count), each // 2)
        due_ns = rng.integers(0, 10 * SECOND, pid.size)
        latency_ns = (rng.exponential(2_000, pid.size) * (pid - 290)).astype(np.int64) + 3_000
        series.append(woken_cpu_series(due_ns, latency_ns, pid, cpu=cpu, end_ns=10 * SECOND))
    return series
