"""Recordings made up from arrays, in order unless a test breaks one thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from whylate.recording.manifest import (
    Change,
    CpuAccount,
    Fact,
    LoadReport,
    Manifest,
    ProbeReport,
    Problem,
)
from whylate.recording.plan import LoadPlan, RunPlan
from whylate.recording.samples import CpuSamples
from whylate.recording.workloads.wakeup import Wakeup

MS = 1_000_000


def latencies(n: int, seed: int = 1) -> NDArray[np.int64]:
    """Independent latencies, 5 µs and an exponential 10 µs on top."""
    return (np.random.default_rng(seed).exponential(10_000, n) + 5_000).astype(np.int64)


def cpu(
    number: int, values: Sequence[int] | NDArray[np.int64], overrun: Sequence[int] = ()
) -> CpuSamples:
    array = np.asarray(values, dtype=np.int64)
    censored = np.zeros(len(array), dtype=bool)
    censored[list(overrun)] = True
    return CpuSamples(number, 1_000 * number, MS, np.arange(len(array)), array, censored)


def account(samples: CpuSamples, **changes: Any) -> CpuAccount:
    n, overrun = len(samples.overrun), int(samples.overrun.sum())
    plain = CpuAccount(
        cpu=samples.cpu,
        start_ns=samples.start_ns,
        end_ns=samples.start_ns + n * MS,
        expected=n,
        seen=n - overrun,
        overrun=overrun,
        dropped=0,
        policy="fifo",
        priority=80,
        memory_locked=True,
    )
    return replace(plain, **changes)


def manifest(
    samples: Sequence[CpuSamples],
    *,
    accounts: Sequence[CpuAccount] | None = None,
    planned_loads: Sequence[LoadPlan] = (),
    loads: Sequence[LoadReport] = (),
    facts: Sequence[Fact] = (),
    changes: Sequence[Change] = (),
    problems: Sequence[Problem] = (),
    state: Any = "complete",
    clock_resolution_ns: int | None = 1,
    interval_ns: int = MS,
) -> Manifest:
    return Manifest(
        format="whylate-recording",
        schema_version=6,
        state=state,
        created="2025-01-02T03:04:05Z",
        whylate="0.1.0",
        board="local",
        clock="CLOCK_MONOTONIC",
        plan=RunPlan(
            workload=Wakeup(duration_ns=10_000_000_000, interval_ns=interval_ns, priority=80),
            cpus=[one.cpu for one in samples],
            loads=list(planned_loads),
        ),
        cpus=[account(one) for one in samples] if accounts is None else list(accounts),
        loads=list(loads),
        facts=list(facts),
        changes=list(changes),
        probe=ProbeReport(
            version="0.1.0",
            arch="x86_64",
            sha256="0" * 64,
            cpu_time_ns=10,
            clock_resolution_ns=clock_resolution_ns,
            clock_read_ns=25,
            peak_memory_bytes=1_000_000,
            frames=1,
            frames_damaged=0,
            frames_resent=0,
            frames_lost=0,
        ),
        problems=list(problems),
    )
