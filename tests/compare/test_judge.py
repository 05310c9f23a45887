"""Verdicts: what they take, and what they are refused for."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from compare_sides import SETS, arm, run
from whylate.compare.cautions import UnequalError, check_equal
from whylate.compare.judge import compare
from whylate.compare.model import Question
from whylate.compare.runs import Arm, Run
from whylate.stats.comparison.run_statistics import Statistic, Value, exact_value

ASKED = Question()


def made(side: Arm, first: int, step: int) -> Arm:
    """Return a side whose runs were made at these seconds."""
    return replace(
        side,
        runs=tuple(
            replace(run, made=f"2026-01-01T00:{(first + step * number) // 60:02d}:"
                              f"{(first + step * number) % 60:02d}")
            for number, run in enumerate(side.runs)
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
            replace(run, values={**run.values, "p50": other.values["p50"]})
            for run, other in zip(new.runs, better.runs, strict=True)
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


@pytest.mark.parametrize(
    ("unbounded", "statistic", "verdict"),
    [(1, 3, "better"), (8, 3, "no verdict"), (1, 5, "no verdict")],
)
def test_a_quantile_without_a_bound_in_one_run_hides_not_what_all_others_show(
    unbounded: int, statistic: int, verdict: str
) -> None:
    newer = arm("newer", 12, 0.5, only=statistic)
    hidden = arm("newer", 12, 0.5, hidden=math.inf, only=statistic)
    mixed = Arm("newer", (*hidden.runs[:unbounded], *newer.runs[unbounded:]))
    assert compare(arm("old", 12), mixed, ASKED).verdict == verdict
    assert compare(mixed, arm("old", 12), ASKED).verdict == verdict.replace("better", "worse")


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
            replace(run, boot=f"{name}{boot}")
            for boot in range(boots)
            for run in arm(name, 3, factor, seed=boot).runs
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
                replace(run, values={
                    key: replace(value, compared=value.compared * 1.0 + step)
                    for key, value in run.values.items()
                })
                for run, step in zip(side.runs, drift, strict=True)
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
        return Arm(name, tuple(replace(run, activations=activations) for run in side.runs))

    short = compare(of("old", 30_000), of("newer", 30_000), ASKED)
    refused = {row.name: row.refused for row in short.statistics if row.refused}
    assert list(refused) == ["p99.99"]
    assert "100,000" in (refused["p99.99"] or "")
    unequal = compare(of("old", 200_000), of("newer", 300_000), ASKED)
    assert [row.name for row in unequal.statistics if row.refused] == ["top 10", "max"]


def points_of(
    name: str,
    runs: int,
    values: dict[str, float],
    quantity: str = "ns_per_switch",
) -> Arm:
    """Return a side of runs whose statistics are points, which spread by 1 %."""
    rng = np.random.default_rng(len(name))
    statistics = tuple(Statistic(value, unit="ns", quantity=quantity) for value in values)
    return Arm(
        name,
        tuple(
            Run(f"{name}-{number}",
                {item: exact_value(math.log(value) + 0.01 * rng.standard_normal())
                 for item, value in values.items() if value > 0},
                1, boot="b", sets=SETS, statistics=statistics, by_points=True)
            for number in range(runs)
        ),
    )  # fmt: skip


def test_a_maximum_that_one_overrun_may_hide_is_never_called_better_or_same() -> None:
    spread = [0.001 * n for n in range(10)]
    old = Arm("old", tuple(run(f"o{n}", spread=[one] * 6) for n, one in enumerate(spread)))
    # One run of the old side has an overrun, without a bound; all new ones have stalls.
    first = old.runs[0]
    hidden = {
        name: Value(value.compared, math.inf) if name in ("top 10", "max") else value
        for name, value in first.values.items()
    }
    old = Arm("old", (replace(first, values=hidden), *old.runs[1:]))
    for down, asked in ((-0.3, ASKED), (-0.05, Question(margins={"p50": 1.1}))):
        new = Arm("newer", tuple(
            run(f"n{n}", spread=[down + one, one, one, one, 3 + one, 4 + one])
            for n, one in enumerate(spread)
        ))  # fmt: skip
        found = compare(old, new, asked)
        assert found.verdict == "no verdict"
        assert "max" in found.why
        # Without the overrun it is plainly worse.
        plain = Arm("old", (first, *old.runs[1:]))
        assert compare(plain, new, asked).verdict == "worse"


def test_a_single_run_shows_nothing_however_many_the_other_side_has() -> None:
    found = compare(arm("old", 1), arm("newer", 39, 5.0), Question(margins={"p50": 1.1}))
    assert found.verdict == "no verdict"
    assert "a single run" in found.why


def test_one_boot_in_common_does_not_tell_a_variant_from_its_boots() -> None:
    old = arm("old", 9, boot="b1")
    new = Arm("newer", (*arm("newer", 1, boot="b1").runs, *arm("newer", 8, 1.2, boot="b2").runs))
    found = compare(old, new, ASKED)
    assert found.verdict == "no verdict"
    assert "boot" in found.why
    # A board that was lost in the middle: both sides have both boots.
    halves = [
        Arm(name, (*arm(name, 5, by, boot="b1").runs, *arm(f"{name}-", 5, by, boot="b2").runs))
        for name, by in (("old", 1.0), ("newer", 1.5))
    ]
    assert compare(halves[0], halves[1], ASKED).verdict == "worse"


def test_boots_of_another_time_have_no_verdict_either() -> None:
    def later(name: str, first: int) -> Arm:
        side = arm(name, 6)
        runs = (replace(run, boot=f"{name}{n}") for n, run in enumerate(side.runs))
        return made(Arm(name, tuple(runs)), first, 20)

    found = compare(later("old", 0), later("newer", 1000), ASKED)
    assert found.verdict == "no verdict"
    assert "made before any of the other" in found.why


def test_rows_without_a_partner_are_told_and_leave_no_verdict() -> None:
    def paired(name: str, pairs: list[str], by: float) -> Arm:
        runs = arm(name, len(pairs), by).runs
        return Arm(name, tuple(replace(run, pair=p) for run, p in zip(runs, pairs, strict=True)))

    first = paired("old", [f"p{n}" for n in range(8)], 1.0)
    some = paired("newer", [f"p{n}" for n in range(8)] + ["x"] * 22, 0.5)
    found = compare(first, some, ASKED)
    assert found.verdict == "no verdict"
    assert "22 of 30 of newer have none" in found.why
    assert found.within == "better"
    none = compare(first, paired("newer", [f"q{n}" for n in range(8)], 0.5), ASKED)
    assert none.verdict == "no verdict"


def test_a_run_counts_once() -> None:
    runs = [replace(run, identity=f"sha{n}") for n, run in enumerate(arm("old", 3).runs)]
    check_equal(runs)
    with pytest.raises(UnequalError, match="one and the same run"):
        check_equal([*runs, replace(runs[1], name="copy")])


def test_a_margin_in_percent_is_none_for_values_about_zero() -> None:
    asked = Question(margins={"p50": 1.1}, linear=True)
    found = compare(arm("old", 8), arm("newer", 8), asked)
    assert found.verdict == "no verdict"
    assert "margin" in found.why


def test_a_margin_for_what_was_not_tested_is_never_kept() -> None:
    asked = Question(margins={"2 tasks": 1.1, "7 tasks": 1.1})
    both = points_of("old", 8, {"2 tasks": 100, "7 tasks": 200})
    alike = compare(both, points_of("newer", 8, {"2 tasks": 100, "7 tasks": 200}), asked)
    assert alike.verdict == "same"
    for other in ({"2 tasks": 100.0}, {"2 tasks": 100.0, "7 tasks": 0.0}):
        found = compare(both, points_of("newer", 8, other), asked)
        assert found.verdict == "no verdict"
        assert "no statement is possible for 7 tasks" in found.why
        (row,) = (row for row in found.statistics if row.name == "7 tasks")
        assert (row.within, row.margin) == (False, 1.1)
        assert row.refused
    first, second = (
        Arm(name, tuple(replace(run, activations=2_000) for run in arm(name, 8, sd=0.01).runs))
        for name in ("old", "newer")
    )
    found = compare(first, second, Question(margins={"p50": 1.1, "p99.9": 1.1}))
    assert found.verdict == "no verdict"
    assert "p99.9" in found.why


def test_different_things_of_one_name_are_not_compared() -> None:
    hops = points_of("old", 8, {"2 tasks": 100}, "ns_per_hop")
    found = compare(hops, points_of("newer", 8, {"2 tasks": 50}), ASKED)
    assert found.verdict == "no verdict"
    assert "ns_per_hop in some runs, and ns_per_switch in others" in found.why
    mixed = Arm("old", (*hops.runs, *points_of("other", 8, {"2 tasks": 100}).runs))
    assert compare(mixed, points_of("newer", 8, {"2 tasks": 50}), ASKED).verdict == "no verdict"


def test_groups_of_runs_are_told() -> None:
    side = arm("old", 6)
    slow = arm("slow", 5, 3.0)
    found = compare(Arm("old", (*side.runs, *slow.runs)), arm("newer", 11), ASKED)
    assert any("two groups" in text and "slow-0" in text for text in found.cautions)


def test_runs_of_another_workload_are_not_compared() -> None:
    other = replace(run("app"), sets={**SETS, "workload": "app"})
    with pytest.raises(UnequalError, match="workload wakeup and app app"):
        check_equal([run("a"), other])


def test_a_verdict_never_stands_beside_an_interval_that_holds_no_change() -> None:
    doubtful = 0
    asked = replace(ASKED, statistics=(Statistic("x"),))
    for seed in range(150):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(4, 9), rng.integers(4, 9)
        # Heavy tails: there the permutation's p and the interval part most often.
        first, second = (rng.standard_normal(size) ** 3 for size in sizes)
        sides = [
            Arm(name, tuple(Run(f"{name}{number}", {"x": exact_value(float(value))}, 1, boot="b")
                            for number, value in enumerate(values)))
            for name, values in (("A", first), ("B", second + rng.choice([0.5, 1, 2])))
        ]  # fmt: skip
        found = compare(sides[0], sides[1], asked)
        (row,) = found.statistics
        assert row.low is not None
        assert row.high is not None
        if found.within in ("better", "worse"):
            assert not row.low <= 1 <= row.high
        doubtful += "the interval none" in found.why
    # Otherwise nothing was tested.
    assert doubtful > 0
