"""Plans of soaks for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from whylate.recording.plan import LoadPlan, RunPlan
from whylate.run.workloads.wakeup import plan_wakeups
from whylate.soak.model import SoakPlan


def wakeup_soak(
    board: str = "board7",
    *,
    run_for_ns: int = 10**8,
    interval_ns: int = 10**6,
    loads: Sequence[LoadPlan] = (),
    **more: Any,
) -> SoakPlan:
    """Return the plan of a soak that measures wakeups."""
    run = RunPlan(workload=plan_wakeups(run_for_ns, interval_ns), loads=list(loads))
    return SoakPlan(board=board, run=run, **more)
