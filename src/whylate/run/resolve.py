"""Resolve a request into the plan of a run on a board."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec

from whylate.recording.device_loads import NIC
from whylate.recording.plan import RunPlan, Setting
from whylate.run.errors import RequestError
from whylate.run.hits import check_hits
from whylate.run.knobs.files import EACH_CPU
from whylate.run.workloads import rules


def check(plan: RunPlan) -> None:
    """Raise RequestError for what no board can do."""
    if plan.faults and not plan.virtual_time:
        raise RequestError(
            "--fault acts in virtual time (--virtual-time); `whylate lab inject` is for real time"
        )
    if plan.virtual_time and any(load.kind == NIC for load in plan.loads):
        raise RequestError("--load net:HOST acts in real time: in virtual time there is no network")
    if plan.cpus is not None and len(set(plan.cpus)) != len(plan.cpus):
        raise RequestError("--cpus names a CPU twice")
    check_hits(plan.hits)
    rules(plan.workload).check(plan)


def resolve(
    plan: RunPlan,
    available: Sequence[int],
    model: str | None = None,
    host_cpus: int | None = None,
) -> RunPlan:
    """Return the plan on a board with these CPUs; raises RequestError.

    model: the fact cpu_model; None if it is unknown.
    """
    check(plan)
    cpus = plan.cpus if plan.cpus is not None else available
    absent = [cpu for cpu in cpus if cpu not in available]
    if absent:
        raise RequestError(
            f"CPU {absent[0]} is not there: the board has {format_cpus(tuple(available))} to run on"
        )
    if not cpus:
        raise RequestError("the board offers no CPU to measure")
    return msgspec.structs.replace(
        plan,
        workload=rules(plan.workload).resolve(plan, available, model),
        cpus=sorted(cpus),
        settings=_for_each(plan.settings, available),
        host_cpus=host_cpus,
    )


def _for_each(settings: Sequence[Setting], cpus: Sequence[int]) -> list[Setting]:
    """Return settings, with one for each CPU in place of {cpu}."""
    return [
        Setting(setting.path.replace(EACH_CPU, str(cpu)), setting.value)
        for setting in settings
        for cpu in (sorted(cpus) if EACH_CPU in setting.path else cpus[:1])
    ]


def format_cpus(cpus: tuple[int, ...]) -> str:
    """Return CPUs as the kernel lists them: 0-3,8."""
    parts = []
    # CPUs that follow each other have the same distance to their place in the list.
    for _, group in groupby(enumerate(sorted(cpus)), lambda item: item[1] - item[0]):
        first, *rest = (cpu for _, cpu in group)
        parts.append(f"{first}-{rest[-1]}" if rest else str(first))
    return ",".join(parts)
