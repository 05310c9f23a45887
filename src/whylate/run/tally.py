"""The tally of a run's messages: how far it is, and whether it may end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from whylate.recording.load_rates import STOPPED
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations.accounting import check_schedule
from whylate.recording.workloads.benchmarks.registry import ROWS
from whylate.run.progress import LoadRate, Progress
from whylate.wire.app_samples import decode_app_samples
from whylate.wire.codec import WireError
from whylate.wire.executions import decode_executions
from whylate.wire.messages import (
    CpuResult,
    CpuStarted,
    Events,
    Executions,
    LoadStarted,
    LoadWork,
    Message,
    Name,
    Samples,
    SampleStages,
    SampleThreads,
    Window,
)
from whylate.wire.messages import Progress as ProbeProgress
from whylate.wire.samples import Rows, decode_samples

#: Messages that ship what was measured, beside those of samples.
SHIPPED_BYTES = 16
SHIPPED = (SampleStages, SampleThreads, Window, Events, Name, CpuResult)


def _rows(block: Samples | Executions, started: CpuStarted) -> Rows:
    """Return the rows of a block; raises WireError."""
    if isinstance(block, Executions):
        return decode_executions(block, started.start_ns).rows
    if not started.interval_ns:
        return decode_app_samples(block)
    end = (started.end_ns - started.start_ns) // started.interval_ns + 1
    return decode_samples(block, started.interval_ns, end)


@dataclass
class Tally:
    """Counts of a run's messages for progress and RunPlan.until; no figure is made of them."""

    plan: RunPlan
    seen: int = 0
    overruns: int = 0
    max_ns: int | None = None
    max_cpu: int | None = None
    repetitions: int = 0
    #: Activations above the limit of RunPlan.until.
    above: int = 0
    #: Reasons why loads stopped, by their index.
    stopped_loads: dict[int, str] = field(default_factory=dict)
    #: The board's clock at its last report; None before the first.
    now_ns: int | None = None
    #: Bytes of blocks that shipped something new, and of windows.
    bytes: int = 0
    #: Called with the latencies of each new block, int64 ns, and which are the lower bounds of
    #: overruns, bool.
    on_latencies: Callable[[NDArray[np.int64], NDArray[np.bool_]], None] | None = None
    _next: dict[int, int] = field(default_factory=dict)
    _started: dict[int, CpuStarted] = field(default_factory=dict)
    _units: dict[int, str] = field(default_factory=dict)
    _work: dict[int, tuple[int, int]] = field(default_factory=dict)
    _rate: dict[int, float] = field(default_factory=dict)

    def add(self, message: Message) -> None:
        """Add a message."""
        unscheduled = self.plan.activations is not None and not self.plan.is_scheduled
        if isinstance(message, CpuStarted) and (unscheduled or message.interval_ns):
            self._start(message)
        elif isinstance(message, Samples | Executions):
            self._samples(message)
        elif isinstance(message, SHIPPED):
            self.bytes += SHIPPED_BYTES + len(getattr(message, "data", b""))
        elif isinstance(message, ROWS):
            self.repetitions += 1
        elif isinstance(message, ProbeProgress):
            self.now_ns = message.now_ns
        elif isinstance(message, LoadStarted):
            self._units[message.load] = message.unit[:40]
        elif isinstance(message, LoadWork):
            before = self._work.get(message.load)
            if before is not None and message.now_ns > before[0]:
                work, ns = message.work - before[1], message.now_ns - before[0]
                self._rate[message.load] = work * 1e9 / ns
            self._work[message.load] = (message.now_ns, message.work)
            if message.state in STOPPED:
                self.stopped_loads[message.load] = message.message[:200]

    @property
    def started(self) -> bool:
        """Whether measuring has begun."""
        return bool(self._started) or self.repetitions > 0

    @property
    def board_elapsed_s(self) -> float:
        """Seconds of the board's clock since measuring began."""
        if self.now_ns is None or not self._started:
            return 0.0
        start_ns = min(cpu.start_ns for cpu in self._started.values())
        return max(0.0, (self.now_ns - start_ns) / 1e9)

    def _start(self, message: CpuStarted) -> None:
        """Add a CPU, unless its schedule is absurd."""
        with contextlib.suppress(WireError):
            if self.plan.activations is not None:
                check_schedule(message, self.plan.activations.duration_ns)
            self._started.setdefault(message.cpu, message)

    def _samples(self, block: Samples | Executions) -> None:
        started = self._started.get(block.cpu)
        # A block that came before would be counted, and paid for, again.
        if started is None or not block.count or block.first < self._next.get(block.cpu, 0):
            return
        try:
            rows = _rows(block, started)
        except WireError:
            return  # sample accounting counts it
        self._next[block.cpu] = int(rows.activation[-1]) + 1
        self.bytes += SHIPPED_BYTES + len(block.data)
        overruns = int(rows.overrun.sum())
        self.overruns += overruns
        self.seen += rows.activation.size - overruns
        until = self.plan.until
        if until is not None:
            self.above += int((rows.latency_ns > until.limit_ns).sum())
        if self.on_latencies is not None:
            self.on_latencies(rows.latency_ns, rows.overrun)
        highest = int(rows.latency_ns.max())
        if self.max_ns is None or highest > self.max_ns:
            self.max_ns, self.max_cpu = highest, block.cpu

    def progress(self, elapsed_s: float) -> Progress:
        """Return the progress after that time."""
        return Progress(
            elapsed_s=elapsed_s,
            planned_s=self.plan.activations.duration_ns / 1e9 if self.plan.activations else 0.0,
            seen=self.seen,
            overruns=self.overruns,
            max_ns=self.max_ns,
            max_cpu=self.max_cpu,
            loads=tuple(
                LoadRate(load, self._units.get(i, ""), self._rate.get(i))
                for i, load in enumerate(self.plan.loads)
            ),
        )
