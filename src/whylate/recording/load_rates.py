"""How much work the loads did: from the probe's running totals, before and while measuring."""

from __future__ import annotations

from dataclasses import dataclass, field

from whylate.recording.device_loads import asked_bits_s, device_report
from whylate.recording.manifest import LoadReport
from whylate.recording.plan import LoadPlan
from whylate.wire.constants import LoadState
from whylate.wire.messages import LoadDevice, LoadWork

#: States of a load that has stopped.
STOPPED: dict[int, str] = {LoadState.FAILED: "failed", LoadState.ENDED: "ended"}
#: A load whose total has not moved over its last reports (2 s) has stopped working.
STALLED_REPORTS = 5
#: A rate over a shorter time is not computed.
SHORTEST_NS = 100_000_000


@dataclass
class LoadAccounting:
    """The totals of one load as they came in, and when measuring began and ended."""

    plan: LoadPlan
    unit: str = ""
    before: list[tuple[int, int]] = field(default_factory=list)
    during: list[tuple[int, int]] = field(default_factory=list)
    error: str | None = None
    device_before: list[LoadDevice] = field(default_factory=list)
    device_during: list[LoadDevice] = field(default_factory=list)

    def add_device(self, report: LoadDevice, measuring: bool) -> None:
        """Add what the kernel counted of the device that the load drives."""
        reports = self.device_during if measuring else self.device_before
        # Totals: the first and the last say all, however long the run is.
        reports[1:] = [report]

    def add(self, report: LoadWork, measuring: bool) -> None:
        """Add a report of the probe."""
        points = self.during if measuring else self.before
        points.append((report.now_ns, report.work))
        if report.state in STOPPED:
            self.error = report.message[:200] or f"the load {STOPPED[report.state]}"

    def report(self) -> LoadReport:
        """Return the work per second before and during."""
        last = self.during[-STALLED_REPORTS:]
        stalled = (
            self.plan.kind != "cmd"  # a command may rest between its bursts
            and len(last) == STALLED_REPORTS
            and last[0][1] == last[-1][1]
        )
        # The last total before measuring is where the work during it begins.
        return LoadReport(
            kind=self.plan.kind,
            count=self.plan.count,
            unit=self.unit,
            before_per_s=_rate(self.before),
            during_per_s=_rate(self.before[-1:] + self.during),
            command=self.plan.command,
            error=self.error or ("it stopped working before the end" if stalled else None),
            device=device_report(
                self.device_before,
                self.device_during,
                asked_bits_s(self.plan.kind, self.plan.command),
            ),
        )


def _rate(points: list[tuple[int, int]]) -> float | None:
    if len(points) < 2:
        return None
    (first_ns, first), (last_ns, last) = points[0], points[-1]
    length_ns = last_ns - first_ns
    return (last - first) * 1e9 / length_ns if length_ns >= SHORTEST_NS else None
