"""What a run measures, where, and beside what: the request and, once it is resolved, the plan."""

from __future__ import annotations

import msgspec

from whylate.recording.bounds import Count, Cpu, Integer
from whylate.recording.workloads import Workload
from whylate.recording.workloads.activations import ActivationWorkload, RecorderPlan
from whylate.recording.workloads.app import Target
from whylate.recording.workloads.benchmarks import BenchmarkWorkload
from whylate.recording.workloads.wakeup import UntilPlan


class LoadPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One load as asked for: `memory:2` is kind "memory", count 2."""

    kind: str
    count: Count
    command: str | None = None


#: What the path of a setting of threads begins with.
THREADS = "priority:"


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file under /proc/sys or /sys written for the run and put back after it.

    Or a priority of SCHED_FIFO for all threads of a name: path is priority:NAME.
    """

    path: str
    value: str

    @property
    def is_of_threads(self) -> bool:
        """Whether it is of threads, which the loads of the run may start."""
        return self.path.startswith(THREADS)


class FaultPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A fault that is injected into a virtual board, with its parameters."""

    name: str
    parameters: dict[str, Integer | str]


class RunPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a run is to do. cpus None: a request, not resolved against a board yet.

    A request names counters without their codes and has no order of turns; in its settings "{cpu}"
    stands for each CPU.
    """

    workload: Workload
    cpus: list[Cpu] | None = None
    loads: list[LoadPlan] = []
    settings: list[Setting] = []
    #: Measured in the virtual time of a virtual board: repeatable, and no measure of hardware.
    virtual_time: bool = False
    #: Of the order of turns; in virtual time also of QEMU's random numbers and the run's start.
    seed: Integer = 0
    #: What they did is in faults.json beside the manifest.
    faults: list[FaultPlan] = []
    #: Functions and tracepoints that are counted, and lines of the facts that are looked up
    #: (whylate.recording.hits).
    hits: list[str] = []
    #: Of a virtual board in real time: the CPUs of its host, which its own share.
    host_cpus: Count | None = None

    @property
    def activations(self) -> ActivationWorkload | None:
        """The workload, if its samples are activations."""
        return self.workload if isinstance(self.workload, ActivationWorkload) else None

    @property
    def benchmark(self) -> BenchmarkWorkload | None:
        """The workload, if its samples are repetitions."""
        return self.workload if isinstance(self.workload, BenchmarkWorkload) else None

    @property
    def recorder(self) -> RecorderPlan | None:
        """What the flight recorder records; None: nothing."""
        return self.activations.recorder if self.activations is not None else None

    @property
    def is_scheduled(self) -> bool:
        """Whether activations come at planned times; of a benchmark there are none."""
        return self.activations is not None and self.activations.is_scheduled

    @property
    def has_parts(self) -> bool:
        """Whether rows are executions, of which more is known than their duration."""
        return self.activations is not None and self.activations.has_parts

    @property
    def row_counters(self) -> list[str]:
        """The events that are counted of each row, by their names."""
        return self.activations.row_counters if self.activations is not None else []

    @property
    def target(self) -> Target | None:
        """The program that is watched; None: none is."""
        return self.activations.target if self.activations is not None else None

    @property
    def until(self) -> UntilPlan | None:
        """When the run may end early; None: never."""
        return self.activations.until if self.activations is not None else None

    @property
    def measured_cpus(self) -> list[int]:
        """The CPUs of a resolved plan."""
        return self.cpus or []
