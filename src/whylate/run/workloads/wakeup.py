"""Running the workload `wakeup`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.workloads.rules import (
    ActivationRules,
    Knob,
    check_counter_plans,
    parse_priority,
    resolve_counters,
)
from whylate.wire import messages
from whylate.wire.constants import LEAST_INTERVAL_NS, LONGEST_PHASE_NS

MAX_INTERVAL_NS = 10_000_000_000


def _priority(workload: Wakeup, value: str) -> Wakeup:
    return msgspec.structs.replace(workload, priority=parse_priority(value))


def _idle_states(workload: Wakeup, value: str) -> Wakeup:
    if value not in ("held", "allowed"):
        raise RequestError("knob idle-states: held (at the lightest) or allowed")
    return msgspec.structs.replace(workload, allow_idle_states=value == "allowed")


def _recorder(workload: Wakeup, value: str) -> Wakeup:
    if value not in ("on", "off"):
        raise RequestError("knob recorder: on or off")
    recorder = None if value == "off" else workload.recorder or RecorderPlan()
    return msgspec.structs.replace(workload, recorder=recorder)


class WakeupRules(ActivationRules):
    """Periodic wakeups of the probe's own threads."""

    knobs: ClassVar[Mapping[str, Knob]] = {
        "priority": _priority,
        "idle-states": _idle_states,
        "recorder": _recorder,
    }

    def check(self, plan: RunPlan) -> None:
        """Raise RequestError for what no board can do."""
        workload: Any = plan.workload
        if not LEAST_INTERVAL_NS <= workload.interval_ns <= MAX_INTERVAL_NS:
            raise RequestError("--interval must lie between 50us and 10s")
        super().check(plan)
        if not 1 <= workload.priority <= 99:
            raise RequestError("--priority must lie between 1 and 99 (SCHED_FIFO)")
        check_counter_plans(workload.counters)
        if workload.until is not None and (workload.spool or plan.virtual_time):
            raise RequestError(
                "--until looks at samples while they come: not with --spool, --virtual-time or a "
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
