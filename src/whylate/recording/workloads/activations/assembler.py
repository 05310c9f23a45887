"""Building samples from the probe's messages: what workloads with activations share."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from whylate.recording.manifest import CpuEvents, Problem
from whylate.recording.sections import SectionReport
from whylate.recording.waits import WaitReport
from whylate.recording.workloads.activations.accounting import (
    CpuAccounting,
    check_schedule,
    check_span,
)
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.wire.app_samples import Threads
from whylate.wire.blocks import INT64_MAX
from whylate.wire.codec import WireError
from whylate.wire.constants import LATEST_NS
from whylate.wire.frame_batches import FrameBatch
from whylate.wire.messages import CpuEvents as CpuEventsMessage
from whylate.wire.messages import (
    CpuResult,
    CpuStarted,
    Message,
    Progress,
    Samples,
    SampleStages,
    SampleThreads,
)
from whylate.wire.samples import Rows

_ROW = np.dtype([("activation", "<i8"), ("latency_ns", "<i8"), ("overrun", "u1")])
Stages = NDArray[np.int64] | NDArray[np.int32]
#: Given the rows of a CPU, their stages, and whose they are in the workload app.
Sink = Callable[[int, Rows, Stages | None, Threads | None], None]


class SamplesDigest:
    """SHA-256 over the rows of each CPU in their order; when they were due is not part of it."""

    def __init__(self) -> None:
        self._cpus: dict[int, hashlib._Hash] = {}

    def add(self, cpu: int, rows: Rows) -> None:
        """Add the next rows of a CPU, however they are cut into blocks."""
        packed = np.empty(rows.activation.size, _ROW)
        packed["activation"] = rows.activation
        packed["latency_ns"] = rows.latency_ns
        packed["overrun"] = rows.overrun
        self._cpus.setdefault(cpu, hashlib.sha256()).update(packed.view(np.uint8).data)

    def hexdigest(self) -> str:
        """Return the digest of the rows so far."""
        whole = hashlib.sha256()
        for cpu, digest in sorted(self._cpus.items()):
            whole.update(f"{cpu} {digest.hexdigest()}\n".encode())
        return whole.hexdigest()


class ActivationAssembler(ABC):
    """Builds rows and the sample accounting of each CPU, and passes the rows to the sink."""

    def __init__(self, sink: Sink, duration_ns: int) -> None:
        self.sink = sink
        #: Of rows that are no part of the sample: they were not drawn, or are treated; None: there
        #: are none.
        self.longer_sink: Sink | None = None
        #: Whether each row is of an arm of an experiment.
        self.has_arms = False
        #: Whether something was read before each of them: see ArmReport.
        self.reads_each = True
        self.duration_ns = duration_ns
        self.accountings: dict[int, CpuAccounting] = {}
        #: Blocks that turned out not to be understood after they were added.
        self.malformed = 0
        self.digest = SamplesDigest()
        #: Threads of a watched program of which there are rows.
        self.threads: set[int] = set()
        #: Names of threads that come without windows.
        self.names: dict[int, str] = {}
        #: What those threads waited for, without names.
        self.waits: list[WaitReport] = []
        #: How executions are timed; None of another workload.
        self.section: SectionReport | None = None
        #: What was counted of each CPU's measuring thread.
        self.events: dict[int, CpuEvents] = {}

    @property
    def started(self) -> bool:
        """Whether measuring has begun."""
        return bool(self.accountings)

    @property
    def whole(self) -> bool:
        """Whether every CPU came to its end."""
        return all(accounting.result for accounting in self.accountings.values())

    @abstractmethod
    def start(self, message: CpuStarted) -> None:
        """Add a CPU; raises WireError."""

    @abstractmethod
    def add_samples(self, accounting: CpuAccounting, message: Samples) -> None:
        """Add a block of samples; raises WireError."""

    @abstractmethod
    def add_stages(self, message: SampleStages) -> None:
        """Add the stages of the last block of its CPU; raises WireError."""

    def add_threads(self, message: SampleThreads) -> None:
        """Add whose the activations of the last block are; raises WireError."""
        raise WireError(f"threads on CPU {message.cpu} of a workload that has none")

    def end(self, accounting: CpuAccounting, message: CpuResult) -> None:
        """Add what the probe counted of a CPU; raises WireError."""
        check_span(message.cpu, message.end_ns - accounting.started.start_ns, self.duration_ns)
        accounting.result = message

    def problems(self) -> list[Problem]:
        """Return why what it counts beside the CPUs' accounts does not add up."""
        return []

    @abstractmethod
    def close(self) -> None:
        """Pass on what waits."""

    def add(self, message: Message, counters: Sequence[CounterPlan]) -> bool:
        """Add a message; return whether it was of activations. Raises WireError."""
        match message:
            case CpuStarted():
                check_schedule(message, self.duration_ns)
                self.start(message)
            case Samples():
                self.add_samples(self._accounting(message.cpu), message)
            case SampleStages():
                self.add_stages(message)
            case SampleThreads():
                self.add_threads(message)
            case CpuResult():
                self._end(message)
            case Progress():
                self._progress(message)
            case CpuEventsMessage():
                self._accounting(message.cpu)
                self.events[message.cpu] = _cpu_events(message, counters)
            case _:
                return False
        return True

    def add_blocks(self, frames: FrameBatch) -> bool:
        """Add frames of samples and of stages together, where nothing in them is unusual.

        Return False, and add none, where each has to be added alone.
        """
        del frames
        return False

    def add_progress(self, frames: FrameBatch) -> bool:
        """Add frames of progress: the last one counts. Return False, and add none, if not."""
        fields = np.dtype([("now_ns", "<u8"), ("size", "<u2"), ("next", "<u8", (self._cpus,))])
        if (frames.end - frames.start != fields.itemsize).any():
            return False
        sent = frames.head(fields.itemsize).view(fields)[:, 0]
        if (
            (sent["now_ns"] > LATEST_NS).any()
            or (sent["size"] != self._cpus).any()
            or (sent["next"] > INT64_MAX).any()
        ):
            return False
        self._progress(Progress(0, tuple(sent["next"][-1].tolist())))
        return True

    @property
    def _cpus(self) -> int:
        return len(self.accountings)

    def _accounting(self, cpu: int) -> CpuAccounting:
        accounting = self.accountings.get(cpu)
        if accounting is None:
            raise WireError("samples of a CPU that is not measured")
        return accounting

    def _end(self, message: CpuResult) -> None:
        accounting = self.accountings.get(message.cpu)
        if accounting is not None:
            self.end(accounting, message)

    def _progress(self, message: Progress) -> None:
        for accounting, upto in zip(self.accountings.values(), message.next, strict=False):
            accounting.progress = upto


def _cpu_events(message: CpuEventsMessage, counters: Sequence[CounterPlan]) -> CpuEvents:
    if len(message.values) != len(counters) or not counters:
        raise WireError("counts that were not asked for")
    if any(count >= 1 << 63 for count in message.values):
        raise WireError("a count is out of range")
    names = [counter.name for counter in counters]
    return CpuEvents(message.cpu, dict(zip(names, message.values, strict=True)))
