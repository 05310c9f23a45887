"""Under which plan a forecast holds: how runs are known that try it."""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha256

import msgspec
from msgspec.structs import replace

from whylate.recording.plan import FaultPlan, RunPlan
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup

_DIGITS = 16


def plan_without(plan: RunPlan, causes: Collection[str]) -> RunPlan | None:
    """Return a plan without the injected faults that make causes; None where none of them does.

    causes: rows of `whylate explain`. A fault is a module of its name, which these show.
    """
    kept = [fault for fault in plan.faults if not any(_makes(fault, text) for text in causes)]
    return replace(plan, faults=kept) if len(kept) < len(plan.faults) else None


def condition_of(plan: RunPlan) -> str:
    """Return a text that is the same for plans under which one forecast holds; "": none does.

    How long a run is, which of its windows are kept and which seed it has make no difference;
    whether it records windows does, since that takes time.
    """
    workload = plan.workload
    if not isinstance(workload, Wakeup):
        return ""
    kept = RecorderPlan() if workload.recorder is not None else None
    same = replace(
        plan,
        workload=replace(workload, duration_ns=0, spool=False, recorder=kept, until=None),
        seed=0,
        faults=[_any_draw(fault) for fault in plan.faults],
        hits=[],
        host_cpus=None,
    )
    return sha256(msgspec.json.encode(same, order="sorted")).hexdigest()[:_DIGITS]


def _makes(fault: FaultPlan, cause: str) -> bool:
    return fault.name.replace("-", "_") in cause


def _any_draw(fault: FaultPlan) -> FaultPlan:
    kept = {key: value for key, value in fault.parameters.items() if key != "seed"}
    return replace(fault, parameters=kept)
