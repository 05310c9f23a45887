"""The order of the runs of a study."""

from __future__ import annotations

from collections import Counter

from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.study.model import LoadSet, PlannedRun, Stop, StudyPlan, Variant
from whylate.study.order import order, remaining_runs, round_of

PLAN = StudyPlan(
    workload=Wakeup(duration_ns=10**9, interval_ns=10**6, priority=80, recorder=RecorderPlan()),
    boards=["pc", "local"],
    variants=[Variant("base"), Variant("x", {"priority": "3"}), Variant("y", {"priority": "4"})],
    loads=[LoadSet("idle", []), LoadSet("busy", [])],
    stop=Stop("looks", [6, 40]),
)


def test_every_round_has_each_variant_under_each_load_once() -> None:
    runs = list(order(PLAN, "pc"))
    assert len(runs) == len(set(runs)) == 40 * 6
    for number in range(40):
        places = runs[6 * number : 6 * number + 6]
        assert {item.round for item in places} == {number + 1}
        # Under one load they follow each other directly.
        assert len({item.load for item in places[:3]}) == 1
        assert {item.variant for item in places[:3]} == {"base", "x", "y"}


def test_who_comes_first_is_left_to_chance_and_the_same_each_time() -> None:
    first = Counter(round_of(PLAN, "pc", number)[0].variant for number in range(1, 121))
    assert all(20 < count < 60 for count in first.values())
    assert list(order(PLAN, "pc")) == list(order(PLAN, "pc"))
    orders = [[item.variant for item in order(PLAN, board)] for board in PLAN.boards]
    assert orders[0] != orders[1]


def test_what_is_made_or_decided_is_not_made_again() -> None:
    runs = list(order(PLAN, "pc"))
    assert list(remaining_runs(PLAN, "pc", set(runs[:10]), set())) == runs[10:]
    rest = list(remaining_runs(PLAN, "pc", set(), {("idle", "x")}))
    assert PlannedRun("pc", "idle", "x", 1) not in rest
    assert PlannedRun("pc", "busy", "x", 1) in rest
    # The base is needed as long as there is something to compare with it.
    assert PlannedRun("pc", "idle", "base", 1) in rest
    done = {(load, variant) for load in ("idle", "busy") for variant in ("x", "y")}
    assert not list(remaining_runs(PLAN, "pc", set(), done))
    assert {
        item.load for item in remaining_runs(PLAN, "pc", set(), {("idle", "x"), ("idle", "y")})
    } == {"busy"}
