"""Plans of bisections: which studies can be bisected, and what hybrids set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from whylate.bisect.sets.history import chosen_keys, history_of
from whylate.bisect.sets.journal import SetsJournal
from whylate.bisect.sets.model import MadeRun
from whylate.bisect.sets.words import lines_of
from whylate.bisect.settings.journal import LAYOUT
from whylate.bisect.settings.model import BisectPlan
from whylate.bisect.settings.plan import bisect_plan
from whylate.bisect.settings.provision import knobs_of
from whylate.run.errors import RequestError
from whylate.stats.search.model import Purpose
from whylate.study.plan_file import PlanFile, read_plan_file, resolve_plan

FIRST = {"sysctl:vm.swappiness": "60", "priority": "80", "sysctl:vm.stat_interval": "1"}
SECOND = {"sysctl:vm.swappiness": "10", "priority": "80", "thp": "never"}


def plan_of(tmp_path: Path, text: str = "", first: object = FIRST, second: object = SECOND,
            **options: object) -> BisectPlan:  # fmt: skip
    path = tmp_path / "plan.toml"
    tables = [text]
    for name, knobs in (("a", first), ("b", second)):
        assert isinstance(knobs, dict)
        tables += [
            f"[variants.{name}]",
            *(f"'{knob}' = '{value}'" for knob, value in knobs.items()),
        ]
    path.write_text("\n".join(tables))
    file: PlanFile = read_plan_file(path)
    given = {"statistic": None, "runs": 100, "margin": 0.3} | options
    return bisect_plan(resolve_plan(file), **given)  # type: ignore[arg-type]


def test_items_are_the_knobs_in_which_the_variants_differ(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    assert [(item.key, item.first, item.second) for item in plan.items] == [
        ("sysctl:vm.swappiness", "60", "10"),
        ("sysctl:vm.stat_interval", "1", None),
        ("thp", None, "never"),
    ]
    assert plan.statistic == "p99"


def test_a_hybrid_has_each_knob_of_the_side_that_was_chosen(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    none, every = np.zeros(3, bool), np.ones(3, bool)
    assert knobs_of(plan, none) == FIRST
    assert knobs_of(plan, every) == SECOND
    # What a side leaves as it is found is not set.
    chosen = np.array([False, True, True])
    assert knobs_of(plan, chosen) == {
        "sysctl:vm.swappiness": "60", "priority": "80", "thp": "never"
    }  # fmt: skip
    assert chosen_keys(plan.sets, chosen) == ["sysctl:vm.stat_interval", "thp"]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {"statistic": "p77"}, "--statistic takes p50, p99"),
        ("", {"runs": 20}, "--runs 20"),
        ("", {"margin": 0.7}, "--margin 0.7"),
        ("loads = { a = [], b = ['timer:1'] }", {}, "one set of loads"),
    ],
)
def test_what_cannot_be_bisected_is_said(
    tmp_path: Path, text: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(RequestError, match=message):
        plan_of(tmp_path, text, **options)


def test_variants_that_differ_in_one_knob_need_no_search(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="differ in one knob"):
        plan_of(tmp_path, first={"thp": "never"}, second={"thp": "always"})


def made(number: int, **fields: object) -> MadeRun:
    given: dict[str, object] = {
        "number": number, "board": "local", "planned": [], "in_force": [], "base": "first",
        "purpose": "end", "target": [], "opened": [], "value": 11.5,
        "started": "2026-01-01T00:00:00+00:00", "took_s": 1.5,
    }  # fmt: skip
    return MadeRun(**given | fields)  # type: ignore[arg-type]


def test_runs_are_the_history_of_the_search(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    runs = [
        made(1),
        made(2, base="second", planned=["thp"], in_force=["thp"]),
        made(3, purpose="confirm", planned=["thp"], in_force=[], target=[2], value=None,
              untestable="it panics"),
    ]  # fmt: skip
    with SetsJournal(tmp_path / "b", LAYOUT, plan) as journal:
        for line in runs:
            journal.append(line)
    with SetsJournal(tmp_path / "b", LAYOUT, plan) as journal:
        assert journal.lines == runs
    history = history_of(plan.sets, runs)
    assert [run.outcome for run in history] == [11.5, 11.5, None]
    assert [run.planned.fast_base for run in history] == [False, True, False]
    assert history[2].planned.purpose is Purpose.CONFIRM
    assert history[2].planned.target == (2,)
    # What was really in force counts, not what was wanted.
    assert history[2].planned.in_force.tolist() == [False, False, True]
    assert not history[2].in_force.any()


def test_a_bisection_of_another_plan_is_not_resumed(tmp_path: Path) -> None:
    with SetsJournal(tmp_path / "b", LAYOUT, plan_of(tmp_path)):
        pass
    with pytest.raises(RequestError, match="another plan"):
        SetsJournal(tmp_path / "b", LAYOUT, plan_of(tmp_path, statistic="p50"))
    # It may go on for longer.
    with SetsJournal(tmp_path / "b", LAYOUT, plan_of(tmp_path, runs=200)) as journal:
        assert journal.plan.runs == 200


def test_a_bisection_that_is_not_over_says_so(tmp_path: Path) -> None:
    lines = list(lines_of(plan_of(tmp_path).sets, [made(1), made(2, value=None)], None))
    assert lines == [
        "p99 by 3 settings: a and b, 2 runs in 3.0 s, 1 of them untestable",
        "Not over: the same `whylate bisect settings` resumes it.",
    ]
