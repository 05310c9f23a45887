"""The workload `wakeup`: a thread of the probe on each CPU wakes periodically."""

from __future__ import annotations

import msgspec

from whylate.recording.bounds import IntervalNs, LimitNs, PhaseNs, Priority, TimeNs
from whylate.recording.workloads.activations import ActivationWorkload
from whylate.recording.workloads.benchmarks import CounterPlan


class UntilPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run ends once latencies above limit_ns are shown to be rarer than one in every_ns.

    after_ns: the run may end after after_ns[n] if n activations exceeded the limit; if more did
    than there are entries, it runs for its whole duration.
    """

    limit_ns: LimitNs
    every_ns: TimeNs
    after_ns: list[TimeNs]


class Wakeup(ActivationWorkload, frozen=True, kw_only=True, tag="wakeup"):
    """Periodic wakeups to absolute deadlines."""

    interval_ns: IntervalNs
    priority: Priority = 95
    allow_idle_states: bool = False
    phase_ns: PhaseNs = 0
    until: UntilPlan | None = None
    counters: list[CounterPlan] = msgspec.field(default_factory=list)
