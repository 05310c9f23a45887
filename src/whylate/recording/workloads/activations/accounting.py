"""Sample accounting: expected = seen + overrun + dropped.

`expected` comes from the schedule alone (start, end, interval), `seen` and `overrun` from the rows,
`dropped` from the gaps between them; the probe counts too. A run whose sample accounting does not
close gets no verdict.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from whylate.recording.manifest import CpuAccount, Problem
from whylate.recording.plan import RunPlan
from whylate.wire.codec import WireError
from whylate.wire.constants import LEAST_INTERVAL_NS
from whylate.wire.messages import CpuResult, CpuStarted
from whylate.wire.samples import Rows

#: Values of sched_getscheduler(2).
POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline"}

#: How much longer than planned a CPU may be measured, beside twice the plan's duration.
MOST_SLACK_NS = 600 * 1_000_000_000


def expected_activations(start_ns: int, end_ns: int, interval_ns: int) -> int:
    """Return how many activations are due in [start_ns, end_ns)."""
    return max(0, -(-(end_ns - start_ns) // interval_ns))


def check_span(cpu: int, span_ns: int, duration_ns: int) -> None:
    """Raise WireError for a measurement that no run of that duration has."""
    if not 0 <= span_ns <= 2 * duration_ns + MOST_SLACK_NS:
        raise WireError(f"CPU {cpu} is measured for {span_ns} ns")


def check_schedule(started: CpuStarted, duration_ns: int) -> None:
    """Raise WireError for a schedule that no run of that duration has.

    Threads start and end at times of their own, and the probe may need a while to start them.
    """
    check_span(started.cpu, started.end_ns - started.start_ns, duration_ns)
    if 0 < started.interval_ns < LEAST_INTERVAL_NS:
        raise WireError(f"CPU {started.cpu} is to be measured every {started.interval_ns} ns")


@dataclass
class CpuAccounting:
    """The sample accounting of one CPU while its blocks come in."""

    started: CpuStarted
    seen: int = 0
    overrun: int = 0
    gaps: int = 0
    #: The activation after the last row.
    next: int = 0
    #: The activation that the probe had reached, by its progress messages.
    progress: int = 0
    #: Rows that are no part of the sample: they are kept apart, and are not expected.
    apart: int = 0
    result: CpuResult | None = None
    refused: int = 0
    faults: list[str] = field(default_factory=list)

    @property
    def planned(self) -> int:
        """Activations that the schedule has, if the run goes to its end."""
        return expected_activations(
            self.started.start_ns, self.started.end_ns, self.started.interval_ns
        )

    def add(self, rows: Rows) -> bool:
        """Add rows in order; return False where the first contradict earlier ones."""
        if rows.activation.size == 0:
            return True
        first = int(rows.activation[0])
        if first < self.next:
            self.refused += 1
            return False
        end = int(rows.activation[-1]) + 1
        self.gaps += end - self.next - rows.activation.size
        overruns = int(rows.overrun.sum())
        self.overrun += overruns
        self.seen += rows.activation.size - overruns
        self.next = end
        return True

    def end_ns(self) -> int:
        """Return the end of the measurement: as the probe reported it, else its lower bound."""
        if self.result is not None:
            return self.result.end_ns
        known = max(self.next, min(self.progress, self.planned))
        return self.started.start_ns + known * self.started.interval_ns

    def expected(self) -> int:
        """Return how many activations were due up to the end."""
        return expected_activations(self.started.start_ns, self.end_ns(), self.started.interval_ns)

    def account(self) -> CpuAccount:
        """Return the figures of the manifest. problems() reports rows behind the end."""
        started = self.result or self.started
        expected = self.expected()
        return CpuAccount(
            cpu=self.started.cpu,
            start_ns=self.started.start_ns,
            end_ns=self.end_ns(),
            expected=expected - self.apart,
            seen=self.seen - self.apart,
            overrun=self.overrun,
            dropped=self.gaps + max(0, expected - self.next),
            policy=POLICIES.get(started.policy, f"policy {started.policy}"),
            priority=started.priority,
            memory_locked=bool(started.locked),
        )

    def departures(self, plan: RunPlan, *, complete: bool) -> list[Problem]:
        """Return where the probe did not do what was planned."""
        started, result, workload = self.started, self.result, plan.activations
        if workload is None:
            return []
        faults: list[str] = []
        if started.cpu not in plan.measured_cpus or started.interval_ns != workload.interval_ns:
            faults.append(f"CPU {started.cpu} every {started.interval_ns} ns")
        # Threads start within one interval of each other, and end together.
        if started.end_ns - started.start_ns < workload.duration_ns - workload.interval_ns:
            faults.append(f"CPU {started.cpu} for {started.end_ns - started.start_ns} ns")
        if complete and result is not None and result.end_ns != started.end_ns:
            faults.append(f"CPU {started.cpu} only until {result.end_ns} ns, not {started.end_ns}")
        return [
            Problem("plan", f"the probe measured {fault}, which was not planned", fatal=True)
            for fault in faults
        ]

    def problems(self) -> list[Problem]:
        """Return why the accounting does not close: fatal problems."""
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
            result.seen + result.overrun + result.dropped != account.expected + self.apart
            or result.seen < account.seen + self.apart
            or result.overrun < account.overrun
        ):
            faults.append(
                f"the probe counted {result.seen} seen, {result.overrun} overrun and "
                f"{result.dropped} dropped on CPU {cpu} where the recording has "
                f"{account.seen}, {account.overrun} and {account.dropped}"
            )
        return [
            Problem("account", f"the sample accounting does not close: {fault}", fatal=True)
            for fault in faults
        ]
