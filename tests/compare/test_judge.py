"""Verdicts: what they take, and what they are refused for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from compare_sides import SETS, arm, run
from whylate.compare.cautions import UnequalError, check_equal
from whylate.compare.judge import compare
from whylate.compare.question import Question
from whylate.compare.runs import Arm

ASKED = Question()


def made(side: Arm, first: int, step: int) -> Arm:
    """Return a side whose runs were made at these seconds."""
    return replace(
        side,
        runs=tuple(
            replace(one, made=f"2026-01-01T00:{(first + step * number) // 60:02d}:"
                              f"{(first + step * number) % 60:02d}")
            for number, one in enumerate(side.runs)
        ),
    )  # fmt: skip


def test_a_side_that_is_higher_in_everything_is_worse() -> None:
    found = compare(arm("old", 8), arm("newer", 8, 1.5), ASKED)
    assert found.verdict == "worse"
    assert found.scope == "boot"
    assert "higher" in found.why
    assert all(row.ratio == pytest.approx(1.5, rel=0.1) for row in found.statistics)
    assert all(row.low is not None and row.low > 1 for row in found.statistics)


def test_the_same_sides_the_other_way_round_are_better() -> None:
    found = compare(arm("old", 8, 1.5), arm("newer", 8), ASKED)
    assert found.verdict == "better"
    assert "lower" in found.why


def test_of_rates_more_is_better() -> None:
    asked = replace(ASKED, higher_is_better=True)
    assert compare(arm("old", 8), arm("newer", 8, 1.5), asked).verdict == "better"


def test_a_tail_alone_that_grew_is_worse_and_named() -> None:
    found = compare(arm("old", 10), arm("newer", 10, 1.6, only=2), ASKED)
    assert found.verdict == "worse"
    assert found.why.startswith("p99.9 is")
    assert found.within == "worse"


def test_a_better_median_does_not_outweigh_a_worse_maximum() -> None:
    old, new = arm("old", 10), arm("newer", 10, 2.0, only=5)
    better = arm("newer", 10, 0.3, only=0)
    mixed = Arm(
        "newer",
        tuple(
            replace(one, values={**one.values, "p50": other.values["p50"]})
            for one, other in zip(new.runs, better.runs, strict=True)
        ),
    )
    found = compare(old, mixed, ASKED)
    assert found.verdict == "worse"
    assert "max" in found.why.split("; but")[0]
    assert "p50" in found.why.split("; but")[1]


def test_no_difference_is_inconclusive_and_says_what_would_decide() -> None:
    found = compare(arm("old", 8), arm("newer", 8), ASKED)
    assert found.verdict == "inconclusive"
    assert "--same" in found.why


def test_same_takes_a_margin_and_the_whole_interval() -> None:
    narrow = compare(arm("old", 8), arm("newer", 8), replace(ASKED, margins={"p50": 1.1}))
    assert narrow.verdict == "same"
    assert "within 10.0 %" in narrow.why
    wide = compare(
        arm("old", 8, sd=0.3), arm("newer", 8, sd=0.3), replace(ASKED, margins={"p50": 1.1})
    )
    assert wide.verdict == "inconclusive"
    assert wide.more_runs is not None
    assert wide.more_runs > 20


def test_a_difference_that_shows_within_the_margin_is_the_same_unless_another_shows() -> None:
    asked = replace(ASKED, margins={"p50": 1.1})
    small = compare(arm("old", 9, sd=0.002), arm("newer", 9, 1.02, sd=0.002, only=0), asked)
    assert small.verdict == "same"
    tail = compare(arm("old", 9, sd=0.02), arm("newer", 9, 1.5, sd=0.02, only=3), asked)
    assert tail.verdict == "worse"


@pytest.mark.parametrize("runs", [1, 3])
def test_few_runs_can_show_nothing(runs: int) -> None:
    found = compare(arm("old", runs), arm("newer", runs, 5.0), ASKED)
    assert found.verdict == "no verdict"
    assert "4 runs a side are the least" in found.why
    assert "times as high" in found.why
    assert all(row.low is None for row in found.statistics)


def test_runs_that_cannot_be_trusted_decide_nothing() -> None:
    old = arm("old", 8)
    bad = Arm("old", (*old.runs[:-1], replace(old.runs[-1], distrust=("3 were dropped.",))))
    found = compare(bad, arm("newer", 8, 2.0), ASKED)
    assert found.verdict == "no verdict"
    assert "old-7" in found.why
    assert "dropped" in found.why
    assert found.within == "worse"


def test_overruns_can_show_a_side_worse_and_never_better() -> None:
    hidden = arm("newer", 8, 0.5, hidden=math.inf)
    found = compare(arm("old", 8), hidden, ASKED)
    # p50 and p99 are known in full, and lower.
    assert found.verdict == "better"
    assert found.why.startswith(("p50", "p99 "))
    tail = compare(arm("old", 8), arm("newer", 8, 0.5, hidden=math.inf, only=3), ASKED)
    assert tail.verdict == "no verdict"
    assert "overruns" in tail.why
    worse = compare(arm("old", 8), arm("newer", 8, 2.0, hidden=math.inf, only=3), ASKED)
    assert worse.verdict == "worse"


@pytest.mark.parametrize(("hidden", "verdict"), [(0.1, "better"), (0.66, "no verdict"),
                                                 (0.8, "no verdict")])  # fmt: skip
def test_a_side_is_better_where_it_would_be_so_as_high_as_it_can_be(
    hidden: float, verdict: str
) -> None:
    # exp(0.66) of a half is not far enough from one, and exp(0.8) is beyond it.
    newer = arm("newer", 8, 0.5, hidden=hidden, only=3)
    assert compare(arm("old", 8), newer, ASKED).verdict == verdict
    assert compare(newer, arm("old", 8), ASKED).verdict == verdict.replace("better", "worse")


def test_overruns_that_can_move_a_quantile_little_leave_it_the_same() -> None:
    asked = replace(ASKED, margins={"p99.9": 1.3})
    verdicts = [
        compare(arm("old", 8, sd=0.02), arm("newer", 8, sd=0.02, hidden=hidden), asked).verdict
        for hidden in (0.0, 0.05, 0.3, math.inf)
    ]
    assert verdicts == ["same", "same", "inconclusive", "inconclusive"]


def test_each_side_from_one_boot_of_its_own_holds_within_these_runs_alone() -> None:
    found = compare(arm("old", 8, boot="a"), arm("newer", 8, 2.0, boot="b"), ASKED)
    assert found.verdict == "no verdict"
    assert found.within == "worse"
    assert "boot several times" in found.why


def test_boots_are_the_unit_where_each_has_runs_of_one_side() -> None:
    def booted(name: str, boots: int, factor: float) -> Arm:
        found = [
            replace(one, boot=f"{name}{boot}")
            for boot in range(boots)
            for one in arm(name, 3, factor, seed=boot).runs
        ]
        return Arm(name, tuple(found))

    few = compare(booted("old", 3, 1.0), booted("newer", 3, 2.0), ASKED)
    assert few.verdict == "no verdict"
    assert few.smallest_p == pytest.approx(0.1)
    many = compare(booted("old", 5, 1.0), booted("newer", 5, 2.0), ASKED)
    assert many.verdict == "worse"
    assert many.scope == "boots"
    assert (many.first.runs, many.first.boots) == (15, 5)


def test_one_side_after_the_other_has_no_verdict_unless_that_is_accepted() -> None:
    old, new = made(arm("old", 6), 0, 10), made(arm("newer", 6, 2.0), 100, 10)
    found = compare(old, new, ASKED)
    assert found.verdict == "no verdict"
    assert "in turns" in found.why
    accepted = compare(old, new, replace(ASKED, accept=True))
    assert accepted.verdict == "worse"
    assert any(text.startswith("accepted: every run of one side") for text in accepted.cautions)


def test_runs_in_turns_are_compared_in_pairs_where_pairs_differ() -> None:
    drift = [1.0, 1.5, 2.2, 3.0, 4.0, 6.0, 8.0]

    def drifting(name: str, factor: float) -> Arm:
        side = arm(name, 7, factor, sd=0.01)
        return Arm(
            name,
            tuple(
                replace(one, values={
                    key: replace(value, compared=value.compared * 1.0 + step)
                    for key, value in one.values.items()
                })
                for one, step in zip(side.runs, drift, strict=True)
            ),
        )  # fmt: skip

    old, new = made(drifting("old", 1.0), 0, 20), made(drifting("newer", 1.2), 10, 20)
    found = compare(old, new, ASKED)
    assert found.paired
    assert found.verdict == "worse"
    assert found.statistics[0].ratio == pytest.approx(1.2, rel=0.03)
    plain = compare(made(arm("old", 7), 0, 20), made(arm("newer", 7, 1.2), 10, 20), ASKED)
    assert not plain.paired


def test_short_runs_have_no_far_quantile_and_longer_ones_no_common_maximum() -> None:
    def of(name: str, activations: int) -> Arm:
        side = arm(name, 6)
        return Arm(name, tuple(replace(one, activations=activations) for one in side.runs))

    short = compare(of("old", 30_000), of("newer", 30_000), ASKED)
    refused = {row.name: row.refused for row in short.statistics if row.refused}
    assert list(refused) == ["p99.99"]
    assert "100,000" in (refused["p99.99"] or "")
    unequal = compare(of("old", 200_000), of("newer", 300_000), ASKED)
    assert [row.name for row in unequal.statistics if row.refused] == ["top 10", "max"]


def test_groups_of_runs_are_told() -> None:
    side = arm("old", 6)
    slow = arm("slow", 5, 3.0)
    found = compare(Arm("old", (*side.runs, *slow.runs)), arm("newer", 11), ASKED)
    assert any("two groups" in text and "slow-0" in text for text in found.cautions)


def test_runs_of_another_workload_are_not_compared() -> None:
    other = replace(run("app"), sets={**SETS, "workload": "app"})
    with pytest.raises(UnequalError, match="workload wakeup and app app"):
        check_equal([run("a"), other])
