"""What models know of each workload: one file for each."""

from __future__ import annotations

from collections.abc import Callable

from whylate.predict.sweep import Source, Sweep
from whylate.predict.workloads.bulk import read_chunk_sweeps
from whylate.predict.workloads.clock import read_clock_sweeps
from whylate.predict.workloads.switch import read_switch_sweeps
from whylate.recording.errors import LackingError
from whylate.recording.reader import Recording
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.bulk import Bulk
from whylate.recording.workloads.clock import Clock
from whylate.recording.workloads.switch import Switch

#: Registration: a benchmark with a number that is swept is one more entry.
SWEEPS: dict[type[BenchmarkWorkload], Callable[[Source], list[Sweep]]] = {
    Clock: read_clock_sweeps,
    Switch: read_switch_sweeps,
}
#: What forecasts are scored by: also chunks, which are no number of threads or tasks.
MEASURED: dict[type[BenchmarkWorkload], Callable[..., list[Sweep]]] = {
    **SWEEPS,
    Bulk: read_chunk_sweeps,
}


def read_sweeps(recording: Recording) -> list[Sweep]:
    """Return what was swept; raises LackingError for a recording without such a number."""
    benchmark = recording.manifest.plan.benchmark
    read = SWEEPS.get(type(benchmark)) if benchmark is not None else None
    if read is None:
        raise LackingError(
            f"no model: {recording.directory} has no sweep over threads or tasks; whylate bench "
            "clock --threads 1,2,4,8 and whylate bench switch --tasks 2,4,8,16 record one"
        )
    return read(Source(recording.manifest, recording.repetitions))


def read_measured(recording: Recording) -> list[Sweep]:
    """Return all that forecasts may be of, also times; nothing where there is no such number."""
    benchmark = recording.manifest.plan.benchmark
    read = MEASURED.get(type(benchmark))  # type: ignore[arg-type]
    return [] if read is None else read(Source(recording.manifest, recording.repetitions))


def reads_one_device(recording: Recording) -> bool:
    """Return whether what threads do there is reading a clock, which they may share."""
    return isinstance(recording.manifest.plan.benchmark, Clock)
