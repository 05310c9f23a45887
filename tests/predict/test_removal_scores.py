"""Forecasts of a removed cause: kept, tried by a later run without the fault, and scored."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from whylate.causes.window.piece import Cause
from whylate.cli import whylate
from whylate.predict.forecast import Forecast
from whylate.predict.removal import rate_limit
from whylate.predict.store import NAME, keep_forecasts, read_forecasts
from whylate.predict.workloads.wakeup import condition_of, plan_without
from whylate.recording.plan import FaultPlan, LoadPlan, RunPlan, Setting
from whylate.recording.reader import Recording, open_recording
from whylate.study.experiment.forecasts import (
    experiment_outcomes,
    predict_experiment,
    remaining_plan,
)
from whylate.study.experiment.plan import plan_experiment
from whylate.study.model import FinishedRun
from whylate.study.results.forecasts import study_outcomes

RECORDED = Path(__file__).parent / "data" / "pc-irqs-off"
MADE, AFTER = "2100-01-01T00:00:00+00:00", "2100-01-02T00:00:00+00:00"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(whylate, [*map(str, arguments)])


def copy(place: Path) -> Path:
    shutil.copytree(RECORDED, place)
    return place


def predict(place: Path) -> list[Forecast]:
    """Keep a forecast without the fault; return what was kept."""
    assert run("predict", "without", "[irqs_off]", copy(place)).exit_code == 0
    return read_forecasts(place)


def record_after(place: Path, largest_ns: int | None, faults: list[FaultPlan]) -> Recording:
    """Write the recorded run again, made later with these faults, and no latency above a limit."""
    copy(place)
    manifest = open_recording(place).manifest
    later = replace(manifest, created=AFTER, plan=replace(manifest.plan, faults=faults))
    (place / "manifest.json").write_bytes(msgspec.json.encode(later))
    if largest_ns is not None:
        table = pq.read_table(place / "samples.parquet")
        at = table.column_names.index("latency_ns")
        column = table.column("latency_ns")
        lowered = pc.min_element_wise(column, pa.scalar(largest_ns, column.type))
        table = table.set_column(at, table.schema.field("latency_ns"), lowered.cast(column.type))
        overrun = table.column_names.index("overrun")
        none = pa.array([False] * len(table), table.schema.field("overrun").type)
        table = table.set_column(overrun, table.schema.field("overrun"), none)
        pq.write_table(table, place / "samples.parquet")
    return open_recording(place)


def test_forecasts_are_kept_in_the_recording_and_without_keeping_are_not(tmp_path: Path) -> None:
    p99, p99_9, rate = predict(tmp_path / "a")
    assert (p99.quantity, p99_9.quantity) == ("p99_ns", "p99.9_ns")
    assert (rate_limit(rate.quantity) or 0) > 0
    assert rate_limit(p99.quantity) is None
    assert p99.change == "without interrupts disabled fault_main [irqs_off]"
    assert p99.low <= p99.value <= (p99.high or 0)
    place = copy(tmp_path / "b")
    assert run("predict", "without", "[irqs_off]", place, "--no-keep").exit_code == 0
    assert not (place / NAME).exists()


@pytest.mark.parametrize(("largest_ns", "held"), [(12_500, 3), (None, 0)])
def test_a_later_run_without_the_fault_tries_them(
    tmp_path: Path, largest_ns: int | None, held: int
) -> None:
    predict(tmp_path / "a")
    record_after(tmp_path / "b", largest_ns, [])
    score = json.loads(run("predict", "--score", tmp_path, "--json").stdout)
    assert [len(score["outcomes"]), score["held"], score["waiting"]] == [3, held, 0]
    shown = run("report", tmp_path / "b")
    assert "predicted before, and measured now" in shown.output
    assert "per s above" in shown.output
    assert f"{held} of 3 intervals held" in shown.output
    done = [FinishedRun("pc", "idle", "without", 1, "b", AFTER, 1.0)]
    (tmp_path / "s").mkdir()
    shutil.move(tmp_path / "b", tmp_path / "s" / "b")
    assert [outcome.holds for outcome in study_outcomes(tmp_path / "s", done)] == [bool(held)] * 3


def test_a_run_with_the_fault_or_another_plan_tries_nothing(tmp_path: Path) -> None:
    predict(tmp_path / "a")
    faults = open_recording(RECORDED).manifest.plan.faults
    record_after(tmp_path / "b", 12_500, faults)
    other = record_after(tmp_path / "c", 12_500, [])
    slower = replace(other.manifest.plan, workload=replace(
        other.manifest.plan.workload, interval_ns=500_000))  # fmt: skip
    (tmp_path / "c" / "manifest.json").write_bytes(
        msgspec.json.encode(replace(other.manifest, plan=slower))
    )
    assert run("predict", "--score", tmp_path).exit_code == 3


def test_a_condition_has_no_duration_and_no_seed_but_the_loads_and_faults() -> None:
    plan = open_recording(RECORDED).manifest.plan
    again = replace(plan, seed=7, workload=replace(plan.workload, duration_ns=10**9))
    assert condition_of(again) == condition_of(plan)
    redrawn = [replace(plan.faults[0], parameters={**plan.faults[0].parameters, "seed": 9})]
    assert condition_of(replace(plan, faults=redrawn)) == condition_of(plan)
    loaded = replace(plan, loads=[LoadPlan("fork", 1)])
    bare = replace(plan, workload=replace(plan.workload, recorder=None))
    without = plan_without(plan, ["interrupts disabled fault_main [irqs_off]"])
    assert without is not None
    assert len({condition_of(each) for each in (plan, loaded, bare, without)}) == 4
    assert plan_without(plan, ["thread make"]) is None


def test_an_experiment_predicts_before_it_tries(tmp_path: Path) -> None:
    recording = open_recording(copy(tmp_path / "a"))
    plan = recording.manifest.plan
    asked = plan_experiment(
        "pc", replace(plan, virtual_time=True), "irqs-off", threshold_ns=30_000, rounds=4
    )
    made = [
        replace(forecast, created=MADE)
        for forecast in predict_experiment(recording, "irqs-off", asked.targets)
    ]
    assert [forecast.condition for forecast in made] == [condition_of(replace(plan, faults=[]))] * 3
    keep_forecasts(tmp_path / "a", made)
    record_after(tmp_path / "off", 12_500, [])
    load = asked.plan.loads[0].name
    done = [FinishedRun(asked.plan.boards[0], load, "off", 0, "off", AFTER, 1.0),
            FinishedRun(asked.plan.boards[0], load, "on", 0, "a", AFTER, 1.0)]  # fmt: skip
    outcomes = experiment_outcomes(tmp_path, asked.plan, done, read_forecasts(tmp_path / "a"))
    assert [(outcome.recording, outcome.holds) for outcome in outcomes] == [("off", True)] * 3
    # A forecast that was made after the run is none of it.
    late = [replace(forecast, created="2100-01-03T00:00:00+00:00") for forecast in made]
    assert experiment_outcomes(tmp_path, asked.plan, done, late) == []


def test_an_experiment_on_what_no_window_shows_predicts_nothing() -> None:
    recording = open_recording(RECORDED)
    assert predict_experiment(recording, "throttling", {Cause.THROTTLING}) == []
    assert predict_experiment(recording, "rt-runtime=-1", set()) == []


def test_what_remains_is_the_plan_without_it() -> None:
    plan = RunPlan(
        workload=open_recording(RECORDED).manifest.plan.workload,
        loads=[LoadPlan("memory", 1), LoadPlan("fork", 1)],
        settings=[Setting("/proc/sys/kernel/sched_rt_runtime_us", "950000")],
    )
    without = remaining_plan(plan, "memory")
    assert without is not None
    assert [load.kind for load in without.loads] == ["fork"]
    switched = remaining_plan(plan, "rt-runtime=-1")
    assert switched is not None
    assert switched.settings == [Setting("/proc/sys/kernel/sched_rt_runtime_us", "-1")]
    assert remaining_plan(plan, "image=a.tar") is None
