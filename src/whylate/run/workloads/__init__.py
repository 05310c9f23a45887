"""What a run knows of each workload: one file for each."""

from __future__ import annotations

from whylate.recording.workloads.activations import ActivationWorkload
from whylate.recording.workloads.app import App
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.bulk import Bulk
from whylate.recording.workloads.clock import Clock
from whylate.recording.workloads.command import Command
from whylate.recording.workloads.flush import Flush
from whylate.recording.workloads.memory import Memory
from whylate.recording.workloads.off import Off
from whylate.recording.workloads.offsets import Offsets
from whylate.recording.workloads.section import Section
from whylate.recording.workloads.switch import Switch
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.workloads.app import AppRules
from whylate.run.workloads.bulk import BulkRules
from whylate.run.workloads.clock import ClockRules
from whylate.run.workloads.command import CommandRules
from whylate.run.workloads.flush import FlushRules
from whylate.run.workloads.memory import MemoryRules
from whylate.run.workloads.off import OffRules
from whylate.run.workloads.offsets import OffsetsRules
from whylate.run.workloads.rules import ActivationRules, BenchmarkRules, WorkloadRules
from whylate.run.workloads.section import SectionRules
from whylate.run.workloads.switch import SwitchRules
from whylate.run.workloads.tables import WorkloadTable
from whylate.run.workloads.wakeup import WakeupRules

_ACTIVATIONS: dict[type[ActivationWorkload], ActivationRules] = {
    Wakeup: WakeupRules(),
    App: AppRules(),
    Section: SectionRules(),
}
_BENCHMARKS: dict[type[BenchmarkWorkload], BenchmarkRules] = {
    Switch: SwitchRules(),
    Memory: MemoryRules(),
    Clock: ClockRules(),
    Command: CommandRules(),
    Off: OffRules(),
    Bulk: BulkRules(),
    Flush: FlushRules(),
    Offsets: OffsetsRules(),
}

_TABLES = (
    *((workload, rules.table) for workload, rules in _BENCHMARKS.items()),
    *((workload, rules.table) for workload, rules in _ACTIVATIONS.items()),
)
#: Kind of a workload -> the table in which a user writes it.
TABLES: dict[str, type[WorkloadTable]] = {
    str(workload.__struct_config__.tag): table for workload, table in _TABLES if table is not None
}
#: The knobs that some workloads have.
KNOBS = tuple(
    dict.fromkeys(
        knob for rules in (*_ACTIVATIONS.values(), *_BENCHMARKS.values()) for knob in rules.knobs
    )
)


def activation_rules(workload: ActivationWorkload) -> ActivationRules:
    """Return the rules of a workload with activations."""
    return _ACTIVATIONS[type(workload)]


def benchmark_rules(workload: BenchmarkWorkload) -> BenchmarkRules:
    """Return the rules of a benchmark."""
    return _BENCHMARKS[type(workload)]


def rules(workload: ActivationWorkload | BenchmarkWorkload) -> WorkloadRules:
    """Return the rules of a workload."""
    if isinstance(workload, BenchmarkWorkload):
        return benchmark_rules(workload)
    return activation_rules(workload)
