"""The account of a run: every activation expected is seen, an overrun, or dropped.

What was expected comes from the schedule alone (start, end, interval). What was seen and what
overran is counted from the rows, what was dropped from the gaps between them, and the probe kept
counts of its own. Where these do not agree the account does not close, and that is a problem
that voids the run: it is never made to fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whylate.recording.manifest import CpuAccount, Problem
from whylate.recording.plan import RunPlan
from whylate.wire.messages import CpuResult, CpuStarted
from whylate.wire.samples import Rows

#: Values of sched_getscheduler(2).
POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline"}


def expected_activations(start_ns: int, end_ns: int, interval_ns: int) -> int:
    """Return how many activations are due in [start_ns, end_ns)."""
    return max(0, -(-(end_ns - start_ns) // interval_ns))


@dataclass
class CpuBook:
    """The running account of one CPU while its blocks come in."""

    started: CpuStarted
    seen: int = 0
    overrun: int = 0
    gaps: int = 0
    #: The activation after the last one that a row was taken of.
    next: int = 0
    #: What the probe said it had finished with, by its progress messages.
    progress: int = 0
    result: CpuResult | None = None
    refused: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def planned(self) -> int:
        """Activations that the schedule has, if the run goes to its end."""
        return expected_activations(
            self.started.start_ns, self.started.end_ns, self.started.interval_ns
        )

    def take(self, rows: Rows) -> bool:
        """Enter the rows of a block; False where they contradict what was entered before."""
        if rows.activation.size == 0:
            return True
        first = int(rows.activation[0])
        if first < self.next:
            self.refused += 1
            return False
        self.gaps += first - self.next
        overruns = int(rows.overrun.sum())
        self.overrun += overruns
        self.seen += rows.activation.size - overruns
        self.next = int(rows.activation[-1]) + 1
        return True

    def end_ns(self) -> int:
        """When the measuring ended: as the probe reported, else as far as it is known to be."""
        if self.result is not None:
            return self.result.end_ns
        known = max(self.next, min(self.progress, self.planned))
        return self.started.start_ns + known * self.started.interval_ns

    def expected(self) -> int:
        """Return how many activations there should be, up to the end."""
        return expected_activations(self.started.start_ns, self.end_ns(), self.started.interval_ns)

    def account(self) -> CpuAccount:
        """Close the account. Rows are taken to lie before the end: problems() says otherwise."""
        started = self.result or self.started
        expected = self.expected()
        return CpuAccount(
            cpu=self.started.cpu,
            start_ns=self.started.start_ns,
            end_ns=self.end_ns(),
            expected=expected,
            seen=self.seen,
            overrun=self.overrun,
            dropped=self.gaps + max(0, expected - self.next),
            policy=POLICIES.get(started.policy, f"policy {started.policy}"),
            priority=started.priority,
            memory_locked=bool(started.locked),
        )

    def departures(self, plan: RunPlan, *, complete: bool) -> list[Problem]:
        """Return where the probe did something else than what was planned."""
        one, result, workload = self.started, self.result, plan.activations
        if workload is None:
            return []
        faults: list[str] = []
        if one.cpu not in plan.measured_cpus or one.interval_ns != workload.interval_ns:
            faults.append(f"CPU {one.cpu} every {one.interval_ns} ns")
        # Threads start within one interval of each other, and end together.
        if one.end_ns - one.start_ns < workload.duration_ns - workload.interval_ns:
            faults.append(f"CPU {one.cpu} for {one.end_ns - one.start_ns} ns")
        if complete and result is not None and result.end_ns != one.end_ns:
            faults.append(f"CPU {one.cpu} only until {result.end_ns} ns, not {one.end_ns}")
        return [
            Problem("plan", f"the probe measured {fault}, which was not planned", fatal=True)
            for fault in faults
        ]

    def problems(self) -> list[Problem]:
        """Return what does not agree, as problems that void the run."""
        cpu, account, result = self.started.cpu, self.account(), self.result
        faults: list[str] = []
        if account.expected != account.seen + account.overrun + account.dropped:
            faults.append(
                f"{account.expected} activations were expected on CPU {cpu}, but "
                f"{account.seen} + {account.overrun} + {account.dropped} are accounted for"
            )
        if self.refused:
            faults.append(f"{self.refused} blocks of samples of CPU {cpu} contradict others")
        if result is not None and (
            result.seen + result.overrun + result.dropped != account.expected
            or result.seen < account.seen
            or result.overrun < account.overrun
        ):
            faults.append(
                f"the probe counted {result.seen} seen, {result.overrun} overrun and "
                f"{result.dropped} dropped on CPU {cpu} where the recording has "
                f"{account.seen}, {account.overrun} and {account.dropped}"
            )
        return [
            Problem("account", f"the account does not close: {fault}", fatal=True)
            for fault in faults
        ]
