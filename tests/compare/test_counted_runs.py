"""Events that both sides counted, side by side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compare_sides import arm
from whylate.compare.counted import compare_counts
from whylate.compare.judge import compare
from whylate.compare.model import Question
from whylate.compare.runs import Arm, Count
from whylate.report.beside import event_lines


def counted(side: Arm, **events: list[float]) -> Arm:
    runs = [
        replace(run, counts={name: Count(values[n], "an activation") for name, values in
                             events.items() if n < len(values)})
        for n, run in enumerate(side.runs)
    ]  # fmt: skip
    return Arm(side.name, tuple(runs))


def spread(level: float, seed: int, runs: int = 10) -> list[float]:
    values: list[float] = (level * np.exp(0.02 * np.random.default_rng(seed).standard_normal(runs))
                           ).tolist()  # fmt: skip
    return values


def test_an_event_has_both_values_and_their_change_with_an_interval() -> None:
    first = counted(arm("a", 10), cycles=spread(1000, 1))
    second = counted(arm("b", 10), cycles=spread(1500, 2))
    (row,) = compare_counts(first, second, paired=False)
    assert row.first == pytest.approx(1000, rel=0.03)
    assert row.second == pytest.approx(1500, rel=0.03)
    assert row.low is not None
    assert row.high is not None
    assert row.low < 1.5 < row.high


def test_an_event_that_never_came_somewhere_has_a_difference() -> None:
    first = counted(arm("a", 10), faults=[0.0] * 10)
    second = counted(arm("b", 10), faults=spread(4, 3))
    (row,) = compare_counts(first, second, paired=False)
    assert row.linear
    assert row.ratio == pytest.approx(4, rel=0.05)


def test_an_event_that_some_runs_have_not_counted_is_left_out() -> None:
    first = counted(arm("a", 10), cycles=spread(1000, 1)[:9])
    second = counted(arm("b", 10), cycles=spread(1000, 2))
    assert compare_counts(first, second, paired=False) == []


def test_events_have_no_part_in_the_verdict() -> None:
    first = counted(arm("a", 10), cycles=spread(1000, 1))
    second = counted(arm("b", 10, seed=9), cycles=spread(9000, 2))
    comparison = compare(first, second, Question())
    assert comparison.verdict == "inconclusive"
    assert [row.name for row in comparison.counters] == ["cycles"]
    (line,) = event_lines(comparison)
    assert line.startswith("cycles an activation: ")
    assert "× " in line


def test_a_single_run_a_side_has_no_interval() -> None:
    first, second = (counted(arm(name, 1), cycles=[1000.0]) for name in "ab")
    (row,) = compare_counts(first, second, paired=False)
    assert (row.ratio, row.low, row.refused) == (1.0, None, "too few runs for an interval")
