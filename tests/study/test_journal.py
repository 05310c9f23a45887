"""A study that goes on: which plan it may go on with."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.study.journal import StudyJournal, read_study
from whylate.study.model import FinishedRun, LoadSet, Stop, StudyPlan, Variant
from whylate.study.plan_file import read_plan_file, resolve_plan

DATA = Path(__file__).parent / "data" / "schema1"
PLAN = StudyPlan(
    workload=Wakeup(duration_ns=10**9, interval_ns=10**6, priority=80, recorder=RecorderPlan()),
    boards=["pc"],
    variants=[Variant("a"), Variant("b", {"priority": "20"})],
    loads=[LoadSet("idle", [])],
    stop=Stop("runs", [10]),
)


def held(directory: Path, plan: StudyPlan, rounds: int) -> None:
    with StudyJournal(directory, plan) as journal:
        for number in range(1, rounds + 1):
            for name in ("a", "b"):
                journal.append(FinishedRun("pc", "idle", name, number, f"{name}/{number}", "", 1.0))


@pytest.mark.parametrize("name", ["wakeup", "memory"])
def test_a_study_of_the_former_schema_is_the_same_study(tmp_path: Path, name: str) -> None:
    """DATA has TOML plans, and the study.json that the last version of schema 1 made of each."""
    (tmp_path / "study.json").write_bytes((DATA / f"{name}.json").read_bytes())
    plan, done = read_study(tmp_path)
    assert plan == resolve_plan(read_plan_file(DATA / f"{name}.toml"))
    assert not done


def test_a_rule_may_be_another_until_it_was_looked_at(tmp_path: Path) -> None:
    held(tmp_path / "s", PLAN, 9)
    held(tmp_path / "s", replace(PLAN, stop=Stop("looks", [6, 12])), 0)


@pytest.mark.parametrize(
    "stop", [Stop("runs", [12]), Stop("looks", [11, 20]), Stop("anytime", [60])]
)
def test_who_has_looked_makes_no_more_runs_to_look_again(tmp_path: Path, stop: Stop) -> None:
    held(tmp_path / "s", PLAN, 10)
    with pytest.raises(RequestError, match="has 10 rounds and had a look"):
        StudyJournal(tmp_path / "s", replace(PLAN, stop=stop))
    # What does not look again may change.
    held(tmp_path / "s", replace(PLAN, budget_ns=10**12), 0)


def test_an_e_process_may_go_on(tmp_path: Path) -> None:
    some = replace(PLAN, stop=Stop("anytime", [20]))
    held(tmp_path / "s", some, 20)
    held(tmp_path / "s", replace(some, stop=Stop("anytime", [60])), 0)
    with pytest.raises(RequestError, match="had a look"):
        StudyJournal(tmp_path / "s", PLAN)
