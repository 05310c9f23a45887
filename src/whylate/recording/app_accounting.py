"""The account of a program's wakeups: what the probe counted is seen, or dropped.

No schedule says how many there should be. The probe numbers the wakeups of each CPU from the
start on, so that one which is lost on its way leaves a gap, and says at the end how many there
were. What it counted is what was expected; seen are the rows, dropped the gaps between them and
what is missing behind the last one.
"""

from __future__ import annotations

from dataclasses import dataclass

from whylate.recording.accounting import CpuBook
from whylate.recording.manifest import Problem
from whylate.recording.plan import RunPlan
from whylate.wire.app_samples import Threads
from whylate.wire.blocks import INT64_MAX
from whylate.wire.codec import WireError
from whylate.wire.messages import CpuResult, CpuStarted
from whylate.wire.samples import Rows


def check_started(message: CpuStarted) -> None:
    """Raise WireError for a CPU that cannot be watched so."""
    if message.interval_ns or not message.start_ns <= message.end_ns <= INT64_MAX:
        raise WireError("a CPU is watched for no possible time")


def check_result(message: CpuResult, started: CpuStarted) -> None:
    """Raise WireError for an account that cannot be one."""
    if not started.start_ns <= message.end_ns <= INT64_MAX:
        raise WireError("a CPU was watched for no possible time")
    if message.overrun or message.seen + message.dropped > INT64_MAX:
        raise WireError("an account of wakeups that cannot be")


@dataclass
class AppBook(CpuBook):
    """The running account of one CPU on which a program's threads wake."""

    #: When the last thread ran of which there is a row.
    ran_ns: int = 0

    def ran(self, rows: Rows, threads: Threads) -> None:
        """Note how far the rows reach that were taken."""
        if rows.activation.size:
            self.ran_ns = max(self.ran_ns, int((threads.due_ns + rows.latency_ns).max()))

    def end_ns(self) -> int:
        """When the watching ended: as the probe reported, else as far as it is known to be."""
        if self.result is not None:
            return self.result.end_ns
        return max(self.started.start_ns, self.ran_ns)

    def expected(self) -> int:
        """Return what the probe counted, or as much of it as is known."""
        if self.result is not None:
            return self.result.seen + self.result.dropped
        return max(self.next, min(self.progress, INT64_MAX))

    def departures(self, plan: RunPlan, *, complete: bool) -> list[Problem]:
        """Return where the probe did something else than what was planned."""
        one, result, workload = self.started, self.result, plan.activations
        if workload is None:
            return []
        faults: list[str] = []
        if one.end_ns - one.start_ns < workload.duration_ns:
            faults.append(f"CPU {one.cpu} for {one.end_ns - one.start_ns} ns")
        if complete and result is not None and result.end_ns < one.end_ns:
            faults.append(f"CPU {one.cpu} only until {result.end_ns} ns, not {one.end_ns}")
        return [
            Problem("plan", f"the probe watched {fault}, which was not planned", fatal=True)
            for fault in faults
        ]
