"""What is measured, as a type: one file for each workload."""

from __future__ import annotations

from typing import get_args

from whylate.recording.workloads.app import App
from whylate.recording.workloads.assembler import RepetitionAssembler
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.bulk import Bulk, BulkAssembler
from whylate.recording.workloads.clock import Clock, ClockAssembler
from whylate.recording.workloads.command import Command, CommandAssembler
from whylate.recording.workloads.flush import Flush, FlushAssembler
from whylate.recording.workloads.memory import Memory, MemoryAssembler
from whylate.recording.workloads.off import Off, OffAssembler
from whylate.recording.workloads.offsets import Offsets, OffsetsAssembler
from whylate.recording.workloads.section import Section
from whylate.recording.workloads.switch import Switch, SwitchAssembler
from whylate.recording.workloads.wakeup import Wakeup
from whylate.wire.messages import BenchFailed, Message, RepetitionCounts

#: Registration: a new workload is one more member.
Activations = Wakeup | App | Section
Benchmark = Switch | Memory | Clock | Command | Off | Bulk | Flush | Offsets
Workload = Activations | Benchmark

ACTIVATIONS: tuple[type[Activations], ...] = get_args(Activations)
BENCHMARKS: tuple[type[Benchmark], ...] = get_args(Benchmark)

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
