"""Plans of bisections: which studies can be bisected, and what hybrids set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whylate.bisect.sets.as_json import document
from whylate.bisect.sets.history import chosen_keys, history_of
from whylate.bisect.sets.journal import SetsJournal
from whylate.bisect.sets.model import MadeRun
from whylate.bisect.sets.words import lines_of
from whylate.bisect.settings.choose import without_excluded
from whylate.bisect.settings.journal import LAYOUT
from whylate.bisect.settings.model import BisectPlan
from whylate.bisect.settings.plan import bisect_plan
from whylate.bisect.settings.provision import knobs_of, problem_of
from whylate.run.errors import RequestError
from whylate.stats.comparison.shifts import Estimate
from whylate.stats.search.model import (
    Answer,
    Confirmation,
    Culprits,
    Effect,
    Gap,
    GapTooSmall,
    NotAmong,
    Purpose,
)
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


def test_what_is_kept_stays_with_the_variant_that_a_hybrid_is_built_on(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, keep=["sysctl:vm.sw*"])
    assert [item.key for item in plan.items] == ["sysctl:vm.stat_interval", "thp"]
    assert problem_of(plan).both_bases
    assert not problem_of(plan_of(tmp_path)).both_bases
    none, every = np.zeros(2, bool), np.ones(2, bool)
    assert knobs_of(plan, none) == FIRST
    assert knobs_of(plan, every, second_base=True) == SECOND
    assert knobs_of(plan, none, second_base=True) == {**FIRST, "sysctl:vm.swappiness": "10"}
    assert knobs_of(plan, every) == {**SECOND, "sysctl:vm.swappiness": "60"}


def test_what_is_pinned_is_exchanged_as_one(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, pin=["setting:sysctl:vm.*"])
    name = "sysctl:vm.swappiness + sysctl:vm.stat_interval"
    assert [(item.key, item.first, item.second) for item in plan.items] == [
        (name, "60 + 1", "10 + as found"),
        ("thp", None, "never"),
    ]
    chosen = np.array([True, False])
    assert knobs_of(plan, chosen) == {"sysctl:vm.swappiness": "10", "priority": "80"}
    assert chosen_keys(plan.sets, chosen) == [name]
    with pytest.raises(RequestError, match="the patterns leave fewer than two settings"):
        plan_of(tmp_path, pin=["*"])


def test_what_is_excluded_is_set_by_no_variant(tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(
        "[variants.a]\n'cmdline:quiet' = true\nthp = 'never'\npriority = 80\n"
        "[variants.b]\n'irq:1' = 0\nthp = 'always'\npriority = 80\n'sysctl:vm.swappiness' = 1\n"
    )
    file = read_plan_file(path)
    with pytest.raises(RequestError, match="local would have to boot"):
        resolve_plan(file)
    left = without_excluded(file, ["command line:*", "irq:*", "priority"])
    plan = bisect_plan(resolve_plan(left), None, 100, 0.3)
    # A knob in which the variants do not differ is no difference.
    assert [variant.knobs for variant in plan.study.variants] == [
        {"thp": "never", "priority": "80"},
        {"thp": "always", "priority": "80", "sysctl:vm.swappiness": "1"},
    ]


def test_a_bisection_of_the_first_schema_goes_on(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    with SetsJournal(tmp_path / "b", LAYOUT, plan):
        pass
    path = tmp_path / "b" / "bisect.json"
    former = json.loads(path.read_text())
    del former["keep"], former["pin"]
    path.write_text(json.dumps({**former, "schema_version": 1}))
    with SetsJournal(tmp_path / "b", LAYOUT, plan):
        pass
    with (
        pytest.raises(RequestError, match="a bisection of another plan"),
        SetsJournal(tmp_path / "b", LAYOUT, plan_of(tmp_path, keep=["thp"])),
    ):
        pass


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


GAP = Gap(Estimate(-0.5, -0.6, -0.4), 0.1, 20)
CONFIRMED = Confirmation(Estimate(1, 0.9, 1.1), Estimate(1, 0.9, 1.1), 12)


def answered(tmp_path: Path, answer: Answer) -> tuple[str, dict[str, Any]]:
    """Return what is printed of an answer, and its JSON."""
    sets, runs = plan_of(tmp_path).sets, [made(1), made(2)]
    return "\n".join(lines_of(sets, runs, answer)), document(sets, runs, answer, tmp_path)


def test_what_never_ran_apart_may_make_the_gap_though_nothing_else_does(tmp_path: Path) -> None:
    first, second = (item.name for item in plan_of(tmp_path).sets.items[:2])
    text, as_json = answered(tmp_path, NotAmong(GAP, CONFIRMED, (0, 1)))
    assert "None of the settings that ran apart makes the difference." in text
    assert "2 of the 3 settings never ran apart from what is not listed" in text
    assert f"it may be in these: {first}, {second}" in text
    assert as_json["never_run_apart"] == [first, second]
    text, as_json = answered(tmp_path, NotAmong(GAP, CONFIRMED))
    assert "None of the settings makes the difference." in text
    assert "never ran" not in text
    assert as_json["never_run_apart"] == []


def test_items_that_never_ran_apart_are_one_culprit(tmp_path: Path) -> None:
    names = [item.name for item in plan_of(tmp_path).sets.items]
    effects = tuple(Effect(item, Estimate(1, 0.9, 1.1)) for item in (0, 2))
    text, as_json = answered(tmp_path, Culprits(GAP, effects, CONFIRMED, ((0, 2),)))
    assert "This setting makes the difference:" in text
    assert f"or, never run apart from it: {names[2]}" in text
    assert text.count(" -> ") == 1
    assert [each["never_run_apart"] for each in as_json["culprits"]] == [[names[2]], [names[0]]]
    text, _ = answered(tmp_path, Culprits(GAP, effects, CONFIRMED, ()))
    assert "These settings make the difference:" in text
    assert "never run apart" not in text


def test_a_gap_that_is_too_small_says_how_long_the_runs_would_take(tmp_path: Path) -> None:
    text, _ = answered(tmp_path, GapTooSmall(GAP, 1000))
    assert "about 1000 runs are needed, 25.0 min in all" in text
