"""What each knob of a study does: of which statistics that can be said."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from compare_sides import arm
from whylate.compare.runs import Run
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.stats.comparison.run_statistics import Value
from whylate.study.model import Factor, FinishedRun, LoadSet, Stop, StudyPlan, Variant
from whylate.study.results import evidence
from whylate.study.results.effects import estimate_effects
from whylate.study.results.evidence import Evidence

ROUNDS = 6
PLAN = StudyPlan(
    workload=Wakeup(duration_ns=10**9, interval_ns=10**6, priority=80, recorder=RecorderPlan()),
    boards=["pc"],
    variants=[Variant(name) for name in ("00", "01", "10", "11")],
    factors=[Factor("priority", ("20", "30")), Factor("thp", ("never", "always"))],
    loads=[LoadSet("idle", [])],
    stop=Stop("runs", [ROUNDS]),
)
DONE = [
    FinishedRun("pc", "idle", item.name, number, f"{item.name}/{number - 1}", f"{number}", 1.0)
    for number in range(1, ROUNDS + 1)
    for item in PLAN.variants
]


@pytest.mark.parametrize("hidden", [False, True])
def test_what_overruns_hide_has_no_effect_and_is_named(
    monkeypatch: pytest.MonkeyPatch, *, hidden: bool
) -> None:
    sides = {item.name: arm(item.name, ROUNDS, 3.0 if item.name[0] == "1" else 1.0).runs
             for item in PLAN.variants}  # fmt: skip

    def read(path: Path) -> Run:
        run = sides[path.parent.name][int(path.name)]
        if hidden and path.name == "3":
            values = {**run.values, "max": Value(run.values["max"].compared, math.inf)}
            return replace(run, values=values)
        return run

    monkeypatch.setattr(evidence, "read_run", read)
    result = estimate_effects(PLAN, Evidence(Path("study"), PLAN), "pc", "idle", DONE)
    assert result.why_not is None
    first = next(item for item in result.effects if len(item.knobs) == 1)
    assert first.p <= 0.05
    assert first.ratios["p50"][0] == pytest.approx(3, rel=0.1)
    assert result.left_out == (["max"] if hidden else [])
    assert ("max" in first.ratios) is not hidden
