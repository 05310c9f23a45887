"""What a summary knows of each workload: one file for each."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.recording.manifest import Manifest
from whylate.recording.repetitions import Repetitions
from whylate.recording.workloads import Workload
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.bulk import Bulk
from whylate.recording.workloads.clock import Clock
from whylate.recording.workloads.command import Command
from whylate.recording.workloads.flush import Flush
from whylate.recording.workloads.memory import Memory
from whylate.recording.workloads.off import Off
from whylate.recording.workloads.offsets import Offsets
from whylate.recording.workloads.switch import Switch
from whylate.summary.benchmarks.model import BenchmarkSummary
from whylate.summary.benchmarks.summarizer import BenchmarkSummarizer
from whylate.summary.workloads.bulk import BulkSummarizer
from whylate.summary.workloads.clock import ClockSummarizer
from whylate.summary.workloads.command import CommandSummarizer
from whylate.summary.workloads.flush import FlushSummarizer
from whylate.summary.workloads.memory import MemorySummarizer
from whylate.summary.workloads.off import OffSummarizer
from whylate.summary.workloads.offsets import OffsetsSummarizer
from whylate.summary.workloads.switch import SwitchSummarizer

#: Registration: a new benchmark is one more entry.
SUMMARIZERS: dict[type[BenchmarkWorkload], type[BenchmarkSummarizer]] = {
    Switch: SwitchSummarizer,
    Memory: MemorySummarizer,
    Clock: ClockSummarizer,
    Command: CommandSummarizer,
    Off: OffSummarizer,
    Bulk: BulkSummarizer,
    Flush: FlushSummarizer,
    Offsets: OffsetsSummarizer,
}


def can_predict(workload: Workload) -> bool:
    """Return whether the summary of a workload can predict more threads than were measured."""
    return isinstance(workload, BenchmarkWorkload) and SUMMARIZERS[type(workload)].can_predict


def summarize_benchmark(
    manifest: Manifest,
    repetitions: Repetitions,
    recording_name: str,
    predict: Sequence[int] = (),
) -> BenchmarkSummary:
    """Compute everything that is printed of a recording of a benchmark.

    predict: numbers of threads for which the throughput is predicted. Raises ValueError for a
    recording of another workload.
    """
    if manifest.plan.benchmark is None:
        raise ValueError("a recording without repetitions")
    summarizer = SUMMARIZERS[type(manifest.plan.benchmark)]
    return summarizer(manifest, repetitions, predict).summarize(recording_name)
