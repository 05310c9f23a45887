"""Building the samples of the workload `app`.

Three messages of the same activations follow each other: `samples`, `sample_stages` and
`sample_threads`. Only the last has the due times: a block without it counts as dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.recording.decode_waits import decode_wait
from whylate.recording.manifest import Problem
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations.accounting import CpuAccounting
from whylate.recording.workloads.activations.assembler import ActivationAssembler, Sink
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.wire.app_samples import Threads, decode_app_samples, decode_threads
from whylate.wire.blocks import INT64_MAX
from whylate.wire.codec import WireError
from whylate.wire.constants import MOST_WAIT_GROUPS
from whylate.wire.events import decode_stages
from whylate.wire.messages import (
    AppWait,
    CpuResult,
    CpuStarted,
    Message,
    Samples,
    SampleStages,
    SampleThreads,
)
from whylate.wire.samples import Rows

#: Threads of a watched program that are remembered, to name them.
MAX_THREADS = 16384


@dataclass
class _Block:
    """Activations of one CPU; stages None: not received yet, or lost."""

    samples: Samples
    rows: Rows
    stages: NDArray[np.int64] | None = None


@dataclass
class AppAccounting(CpuAccounting):
    """The sample accounting of one CPU: what the probe counted is seen, or dropped.

    There is no schedule of expected wakeups: the probe numbers those of each CPU, so that a
    lost one leaves a gap, and reports their number at the end. There are no overruns.
    """

    #: The run time of the last row.
    ran_ns: int = 0

    def extend(self, rows: Rows, threads: Threads) -> None:
        """Extend the watched time to the end of these rows."""
        if rows.activation.size:
            self.ran_ns = max(self.ran_ns, int((threads.due_ns + rows.latency_ns).max()))

    def end_ns(self) -> int:
        """Return the end of the watched time: as the probe reported it, else its lower bound."""
        if self.result is not None:
            return self.result.end_ns
        return max(self.started.start_ns, self.ran_ns)

    def expected(self) -> int:
        """Return what the probe counted, or its lower bound."""
        if self.result is not None:
            return self.result.seen + self.result.dropped
        return max(self.next, min(self.progress, INT64_MAX))

    def departures(self, plan: RunPlan, *, complete: bool) -> list[Problem]:
        """Return where the probe did not do what was planned."""
        started, result, workload = self.started, self.result, plan.activations
        if workload is None:
            return []
        faults: list[str] = []
        if started.end_ns - started.start_ns < workload.duration_ns:
            faults.append(f"CPU {started.cpu} for {started.end_ns - started.start_ns} ns")
        if complete and result is not None and result.end_ns < started.end_ns:
            faults.append(f"CPU {started.cpu} only until {result.end_ns} ns, not {started.end_ns}")
        return [
            Problem("plan", f"the probe watched {fault}, which was not planned", fatal=True)
            for fault in faults
        ]


class AppAssembler(ActivationAssembler):
    """Builds rows of a program's wakeups."""

    accountings: dict[int, AppAccounting]  # type: ignore[assignment]

    def __init__(self, sink: Sink, duration_ns: int) -> None:
        super().__init__(sink, duration_ns)
        self._waiting: dict[int, _Block] = {}

    def add(self, message: Message, counters: Sequence[CounterPlan]) -> bool:
        """Add a message; return whether it was of activations. Raises WireError."""
        if not isinstance(message, AppWait):
            return super().add(message, counters)
        if len(self.waits) == MOST_WAIT_GROUPS:
            raise WireError("more groups of waits than there can be")
        self.waits.append(decode_wait(message))
        return True

    def start(self, message: CpuStarted) -> None:
        """Add a CPU; raises WireError for one that cannot be watched so."""
        if message.interval_ns or not message.start_ns <= message.end_ns <= INT64_MAX:
            raise WireError("a CPU is watched for no possible time")
        self.accountings.setdefault(message.cpu, AppAccounting(message))

    def end(self, accounting: CpuAccounting, message: CpuResult) -> None:
        """Add what the probe counted of a CPU; raises WireError for impossible counts."""
        if not accounting.started.start_ns <= message.end_ns <= INT64_MAX:
            raise WireError("a CPU was watched for no possible time")
        if message.overrun or message.seen + message.dropped > INT64_MAX:
            raise WireError("impossible counts of wakeups")
        accounting.result = message

    def add_samples(self, accounting: CpuAccounting, message: Samples) -> None:
        """Begin a block; raises WireError."""
        del accounting
        self._waiting.pop(message.cpu, None)
        self._waiting[message.cpu] = _Block(message, decode_app_samples(message))

    def add_stages(self, message: SampleStages) -> None:
        """Add the stages of a block; raises WireError where they are of none."""
        self._block(message, "stages").stages = decode_stages(message)

    def add_threads(self, message: SampleThreads) -> None:
        """Complete a block; raises WireError where there is none."""
        accounting = self.accountings.get(message.cpu)
        if accounting is None:
            raise WireError("threads of a CPU that is not watched")
        block = self._block(message, "threads")
        threads = decode_threads(message, accounting.started.start_ns)
        if (block.rows.latency_ns > INT64_MAX - threads.due_ns).any():
            raise WireError("an activation that ran at no possible time")
        del self._waiting[message.cpu]
        if not accounting.add(block.rows):
            return
        accounting.extend(block.rows, threads)
        self.digest.add(message.cpu, block.rows)
        if len(self.threads) < MAX_THREADS:
            self.threads.update(np.unique(threads.pid).tolist())
        self.sink(message.cpu, block.rows, block.stages, threads)

    def close(self) -> None:
        """Drop blocks without threads: they count as dropped. Drop waits that cannot be.

        Each wait ends in a wakeup that was seen.
        """
        self._waiting.clear()
        seen = sum(accounting.result.seen for accounting in self.accountings.values()
                   if accounting.result is not None)  # fmt: skip
        if self.whole and sum(wait.count for wait in self.waits) > seen:
            self.waits.clear()
            self.malformed += 1

    def _block(self, message: SampleStages | SampleThreads, what: str) -> _Block:
        block = self._waiting.get(message.cpu)
        samples = block.samples if block is not None else None
        if (
            block is None
            or samples is None
            or (samples.first, samples.count) != (message.first, message.count)
        ):
            raise WireError(f"{what} of no block of samples")
        return block
