"""Which assembler builds the rows of which benchmark."""

from __future__ import annotations

from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.benchmarks.assembler import RepetitionAssembler
from whylate.recording.workloads.benchmarks.bulk import BulkAssembler
from whylate.recording.workloads.benchmarks.clock import ClockAssembler
from whylate.recording.workloads.benchmarks.command import CommandAssembler
from whylate.recording.workloads.benchmarks.flush import FlushAssembler
from whylate.recording.workloads.benchmarks.memory import MemoryAssembler
from whylate.recording.workloads.benchmarks.off import OffAssembler
from whylate.recording.workloads.benchmarks.offsets import OffsetsAssembler
from whylate.recording.workloads.benchmarks.switch import SwitchAssembler
from whylate.recording.workloads.bulk import Bulk
from whylate.recording.workloads.clock import Clock
from whylate.recording.workloads.command import Command
from whylate.recording.workloads.flush import Flush
from whylate.recording.workloads.memory import Memory
from whylate.recording.workloads.off import Off
from whylate.recording.workloads.offsets import Offsets
from whylate.recording.workloads.switch import Switch
from whylate.wire.messages import BenchFailed, Message, RepetitionCounts

_ASSEMBLERS: dict[type[BenchmarkWorkload], type[RepetitionAssembler]] = {
    Switch: SwitchAssembler,
    Memory: MemoryAssembler,
    Clock: ClockAssembler,
    Command: CommandAssembler,
    Off: OffAssembler,
    Bulk: BulkAssembler,
    Flush: FlushAssembler,
    Offsets: OffsetsAssembler,
}
#: The messages that have a repetition.
ROWS = tuple(assembler.row for assembler in _ASSEMBLERS.values())
#: All messages of benchmarks.
BENCHMARK_MESSAGES: tuple[type[Message], ...] = (
    RepetitionCounts,
    BenchFailed,
    *ROWS,
    *(message for assembler in _ASSEMBLERS.values() for message in assembler.details),
)


def repetition_assembler(workload: BenchmarkWorkload) -> RepetitionAssembler:
    """Return what builds the rows of a benchmark."""
    return _ASSEMBLERS[type(workload)](workload)
