"""What is measured, as a type: one file for each workload."""

from __future__ import annotations

from typing import get_args

from whylate.recording.workloads.app import App
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

#: Registration: a new workload is one more member.
Activations = Wakeup | App | Section
Benchmark = Switch | Memory | Clock | Command | Off | Bulk | Flush | Offsets
Workload = Activations | Benchmark

ACTIVATIONS: tuple[type[Activations], ...] = get_args(Activations)
BENCHMARKS: tuple[type[Benchmark], ...] = get_args(Benchmark)
