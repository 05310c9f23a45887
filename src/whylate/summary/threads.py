"""The figures of a watched program's threads: the slowest few, each by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from whylate.recording.manifest import Manifest
from whylate.recording.samples import CpuSamples
from whylate.stats.run.ordered import merge_ordered, sort_series
from whylate.summary.figures import estimates
from whylate.summary.model import ThreadFigures

#: Threads that have figures of their own.
MOST_THREADS = 12


def thread_count(series: Sequence[CpuSamples]) -> int:
    """Return how many threads woke."""
    return _worst(series)[0].size


def slowest_threads(manifest: Manifest, series: Sequence[CpuSamples]) -> list[ThreadFigures]:
    """Return the figures of the threads with the longest latencies, the longest first."""
    pids, worst_ns = _worst(series)
    slowest = np.lexsort((pids, -worst_ns))[:MOST_THREADS]
    names = {thread.pid: thread.name for thread in manifest.threads}
    return [_figures(pid, names.get(pid), series) for pid in pids[slowest].tolist()]


def _worst(series: Sequence[CpuSamples]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return the threads, int32, sorted, and the longest latency of each, int64 ns."""
    woken = [(cpu.woken.pid, cpu.latency_ns) for cpu in series if cpu.woken is not None]
    if not woken:
        return np.empty(0, np.int32), np.empty(0, np.int64)
    pid = np.concatenate([pids_of_cpu for pids_of_cpu, _ in woken])
    pids, thread = np.unique(pid, return_inverse=True)
    worst_ns = np.full(pids.size, np.iinfo(np.int64).min)
    np.maximum.at(worst_ns, thread, np.concatenate([latency_ns for _, latency_ns in woken]))
    return pids, worst_ns


def _figures(pid: int, name: str | None, series: Sequence[CpuSamples]) -> ThreadFigures:
    own = [cpu.of_thread(pid) for cpu in series]
    ordered = merge_ordered([sort_series(cpu) for cpu in own])
    return ThreadFigures(
        pid=pid,
        name=name,
        seen=ordered.n,
        min_ns=ordered.at_least(0),
        latency_ns=estimates(own, ordered),
    )
