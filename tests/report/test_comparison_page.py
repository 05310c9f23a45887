"""The page of a comparison: what it shows, and that nothing in a name acts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from comparison_examples import HOSTILE, arm

from whylate.compare.judge import compare
from whylate.compare.model import Question
from whylate.compare.runs import Arm
from whylate.report.page.comparison import Group, render
from whylate.report.plots.arms import overlaid, run_by_run
from whylate.report.plots.chart import HEIGHT, LEFT, WIDTH, across, ticks, upwards
from whylate.report.plots.forest import of_comparison
from whylate.stats.comparison.run_statistics import STATISTICS
from whylate.stats.run.histogram import count_by_octave, edges_ns
from whylate.stats.run.values import count_values


@pytest.fixture(scope="module")
def arms() -> list[Arm]:
    return [arm("old", 1.0), arm(f"new{HOSTILE}", 1.4)]


def test_octaves_count_every_latency_once() -> None:
    latency_ns = np.sort(np.random.default_rng(1).integers(-50, 10**9, 5000))
    counts = count_by_octave(count_values(latency_ns))
    assert counts.sum() == (latency_ns >= 1).sum()
    assert counts.size == edges_ns().size - 1


def test_both_sides_lie_over_each_other_on_three_scales(arms: list[Arm]) -> None:
    linear, log, stretched = overlaid(arms)
    assert [len(chart.lines) for chart in (linear, log, stretched)] == [2, 2, 2]
    for chart in (linear, log, stretched):
        for line in chart.lines:
            places = [tuple(map(float, pair.split(","))) for pair in line.points.split()]
            assert all(LEFT <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)
    # The same shape: in multiples of the peak both outlines begin and end close by.
    first, second = (line.points.split()[0] for line in stretched.lines)
    assert abs(float(first.split(",")[0]) - float(second.split(",")[0])) < 150


def test_the_forest_has_a_row_for_each_ratio(arms: list[Arm]) -> None:
    found = of_comparison(compare(arms[0], arms[1], Question()))
    assert found is not None
    assert [row.name for row in found.rows] == [one.name for one in STATISTICS]
    assert all(row.clear and row.low is not None and row.low > found.unity for row in found.rows)


def test_runs_stand_in_the_order_in_which_they_were_made(arms: list[Arm]) -> None:
    chart = run_by_run(arms, "p50")
    assert chart is not None
    assert len(chart.dots) == 16
    assert [dot.x for dot in chart.dots] == sorted(dot.x for dot in chart.dots)
    assert run_by_run([replace(arms[0], runs=arms[0].runs[:1])], "p50") is None


def test_nothing_in_a_name_acts(arms: list[Arm], tmp_path: Path) -> None:
    del tmp_path
    text = render(HOSTILE, [HOSTILE], "2026-01-01T00:00:00+00:00",
                  [Group(HOSTILE, arms, [compare(arms[0], arms[1], Question())])])  # fmt: skip
    assert "<img" not in text
    assert "\u202e" not in text
    assert "<script" not in text
    assert "script-src &#39;none&#39;" in text


def test_ticks_are_round_and_inside() -> None:
    for scale in (across(3, 977), upwards(0.2, 0.3), across(8e3, 2e5, log=True), upwards(0, 1)):
        found = ticks(scale, lambda value: f"{value:g}")
        assert 2 <= len(found) <= 12
        low, high = sorted((scale.begin, scale.end))
        assert all(low <= tick.at <= high for tick in found)
