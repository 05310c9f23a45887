"""Running the workload `wakeup`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from whylate.recording.bounds import Small
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.workloads.counters import check_counters, resolve_counters
from whylate.run.workloads.rules import ActivationRules, Knob, choice, set_priority
from whylate.run.workloads.tables import parse_duration
from whylate.wire import messages
from whylate.wire.constants import LEAST_INTERVAL_NS, LONGEST_INTERVAL_NS, LONGEST_PHASE_NS


def _set_idle_states(workload: Wakeup, value: str) -> Wakeup:
    allowed = choice("idle-states", value, ("held", "allowed")) == "allowed"
    return msgspec.structs.replace(workload, allow_idle_states=allowed)


def _set_recorder(workload: Wakeup, value: str) -> Wakeup:
    on = choice("recorder", value, ("on", "off")) == "on"
    recorder = (workload.recorder or RecorderPlan()) if on else None
    return msgspec.structs.replace(workload, recorder=recorder)


class WakeupTable(msgspec.Struct, rename={"duration": "for"}, kw_only=True):
    """The keys of wakeups in a study's plan, beside those of the study."""

    duration: str = "20s"
    interval: str = "1ms"
    priority: Small = 80
    recorder: bool = True

    def wakeups(self) -> Wakeup:
        """Return the workload; raises RequestError."""
        interval_ns = parse_duration("interval", self.interval)
        duration_ns = parse_duration("for", self.duration)
        if not LEAST_INTERVAL_NS <= interval_ns <= duration_ns:
            raise RequestError("the interval must lie between 50us and the time of a run")
        return Wakeup(
            duration_ns=duration_ns,
            interval_ns=interval_ns,
            priority=self.priority,
            recorder=RecorderPlan() if self.recorder else None,
        )


def plan_wakeups(duration_ns: int, interval_ns: int) -> Wakeup:
    """Return periodic wakeups with the default priority, and no recorder."""
    return Wakeup(duration_ns=duration_ns, interval_ns=interval_ns)


def recorder_check_command(cpus: Sequence[int]) -> messages.Message:
    """Return the command of a few activations that an idle board hardly notices.

    No latency is judged: they have the lowest real-time priority.
    """
    return messages.Wakeup(
        interval_ns=10_000_000,
        duration_ns=200_000_000,
        priority=1,
        hold_idle=0,
        spool=0,
        cpus=tuple(cpus),
    )


class WakeupRules(ActivationRules):
    """Periodic wakeups of the probe's own threads."""

    knobs: ClassVar[Mapping[str, Knob]] = {
        "priority": set_priority,
        "idle-states": _set_idle_states,
        "recorder": _set_recorder,
    }

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for what no board can do."""
        workload: Any = plan.workload
        if not LEAST_INTERVAL_NS <= workload.interval_ns <= LONGEST_INTERVAL_NS:
            raise RequestError("--interval must lie between 50us and 10s")
        super().check(plan)
        if not 1 <= workload.priority <= 99:
            raise RequestError("--priority must lie between 1 and 99 (SCHED_FIFO)")
        check_counters([counter.name for counter in workload.counters])
        if workload.until is not None and (workload.spool or plan.virtual_time):
            raise RequestError(
                "--until needs samples while the run goes: not with --spool, --virtual-time or a "
                "program"
            )
        if not 0 <= workload.phase_ns <= LONGEST_PHASE_NS:
            raise RequestError("the start phase must lie between 0 and 10s")

    def resolve(self, plan: RunPlan, available: Sequence[int], model: str | None) -> Wakeup:
        """Resolve the counters; raises RequestError."""
        del available
        workload: Any = plan.workload
        counters = resolve_counters(workload.counters, model)
        resolved: Wakeup = msgspec.structs.replace(workload, counters=counters)
        return resolved

    def repeat(self, workload: Wakeup, duration_ns: int, recorder: RecorderPlan) -> Wakeup:
        """Return periodic wakeups with the interval and priority of a recording."""
        return Wakeup(
            duration_ns=duration_ns,
            interval_ns=workload.interval_ns,
            priority=workload.priority,
            recorder=recorder,
        )

    def start(self, workload: Wakeup, cpus: Sequence[int]) -> messages.Wakeup:
        """Return the command that starts it."""
        return messages.Wakeup(
            interval_ns=workload.interval_ns,
            duration_ns=workload.duration_ns,
            priority=workload.priority,
            hold_idle=int(not workload.allow_idle_states),
            spool=int(workload.spool),
            cpus=tuple(cpus),
        )

    def script(self, workload: Wakeup, cpus: Sequence[int]) -> Iterator[messages.Message]:
        """Yield its phase, and the command that starts it."""
        yield messages.Phase(workload.phase_ns)
        yield self.start(workload, cpus)
