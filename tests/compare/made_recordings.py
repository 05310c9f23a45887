"""Recordings on the disk whose latencies a test made up."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from whylate.recording.manifest import CpuAccount, Fact, Manifest, ProbeReport
from whylate.recording.plan import RunPlan
from whylate.recording.store.samples import samples_writer
from whylate.recording.workloads.wakeup import Wakeup
from whylate.wire.samples import Rows

MS = 1_000_000


def recording(
    directory: Path,
    latency_ns: NDArray[np.int64],
    *,
    created: str = "2026-01-01T00:00:00+00:00",
    boot: str = "b",
    interval_ns: int = MS,
    policy: str = "fifo",
) -> Path:
    """Write a recording of one CPU, in order unless it is told otherwise."""
    n = len(latency_ns)
    directory.mkdir(parents=True)
    with samples_writer(directory) as writer:
        writer.rows(0, Rows(np.arange(n), latency_ns, np.zeros(n, bool)))
    manifest = Manifest(
        format="whylate-recording", schema_version=6, state="complete", created=created,
        whylate="0", board="b", clock="CLOCK_MONOTONIC",
        plan=RunPlan(
            workload=Wakeup(duration_ns=n * interval_ns, interval_ns=interval_ns), cpus=[0]
        ),
        cpus=[
            CpuAccount(
                cpu=0, start_ns=0, end_ns=n * interval_ns, expected=n, seen=n, overrun=0, dropped=0,
                policy=policy, priority=95, memory_locked=True,
            )
        ],
        loads=[], facts=[Fact("boot_id", boot, "/proc/sys/kernel/random/boot_id")], changes=[],
        probe=ProbeReport(
            version="0", arch="x86_64", sha256="0" * 64, cpu_time_ns=1, clock_resolution_ns=1,
            clock_read_ns=20, peak_memory_bytes=1, frames=1, frames_damaged=0, frames_resent=0,
            frames_lost=0,
        ),
        problems=[],
    )  # fmt: skip
    (directory / "manifest.json").write_bytes(msgspec.json.encode(manifest))
    return directory
