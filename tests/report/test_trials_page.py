"""Trials on a screen and on a page: every point, its refusals, and nothing in a name that acts."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import trial_examples
from msgspec.structs import replace
from rich.console import Console

from app_runs import app_manifest
from whylate.compare.runs import Arm, Run
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.point_names import point_names
from whylate.recording.workloads.switch import SwitchPoint
from whylate.report.chart import HEIGHT, LEFT, WIDTH
from whylate.report.sweeps import MOST_CHARTS, MOST_SERIES, Swept, sweep_charts, swept_by
from whylate.report.trials import number, print_trials, subject
from whylate.report.trials_page import render_trials, write_trials
from whylate.summary.trial_model import Measured, PointFigures, TrialsSummary

EXAMPLES = [trial_examples.memory, trial_examples.switch, trial_examples.clock]


def printed(summary: TrialsSummary, width: int = 100) -> str:
    out = io.StringIO()
    print_trials(summary, Console(file=out, width=width, highlight=False), "/r/report.html")
    return out.getvalue()


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_screen_names_every_point_and_sends_nothing_of_the_board(example: object) -> None:
    found = example()  # type: ignore[operator]
    text = printed(found, 160)
    for one in found.points:
        assert one.name in text
    assert "\x1b" not in text
    assert "\\x1b[31m" in text


def test_a_screen_says_what_was_refused_and_what_was_predicted() -> None:
    text = printed(trial_examples.memory())
    assert "refused" in text
    assert "no verdict" in text
    clock = printed(trial_examples.clock())
    assert "predicted, not measured" in clock
    assert "off by × 1.07" in clock
    assert "0 of 12,345" in clock


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234.4, "1,234"), (56.784, "56.78"), (0.00012345, "0.0001234"), (2e-8, "0"),
     (3e-5, "0.000030"), (-12.5, "-12.5")],
)  # fmt: skip
def test_numbers_are_written_without_powers_of_ten(value: float, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_page_draws_what_was_swept_inside_its_box(example: object) -> None:
    found = example()  # type: ignore[operator]
    charts = sweep_charts([Swept("", found.points)], found.networks)
    assert charts
    for one in charts:
        for line in one.chart.lines:
            places = [tuple(map(float, pair.split(","))) for pair in line.points.split()]
            assert all(LEFT <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)


def test_sizes_are_a_line_for_each_thing_done_and_refused_points_are_none() -> None:
    (chart,) = sweep_charts([Swept("", trial_examples.memory().points)])
    assert [name for _, name in chart.keys] == [
        "copy, untouched source", "copy, random source", "set",
    ]  # fmt: skip
    assert len(chart.chart.dots) == 11


def test_sides_are_laid_over_each_other() -> None:
    points = trial_examples.switch().points
    (twice, _) = sweep_charts([Swept("run", points), Swept("run", points)])
    assert [name for _, name in twice.keys] == ["run (1)", "run (2)"]
    time, flushes = sweep_charts([Swept("old", points), Swept("new", points)])
    assert [name for _, name in time.keys] == ["old", "new"]
    assert "flushes" in flushes.chart.caption


def test_no_side_is_left_out_of_charts_of_many_settings() -> None:
    points: list[BenchmarkPoint] = [SwitchPoint(tasks, set_bytes=size << 10)
                           for tasks in (2, 8) for size in range(20)]  # fmt: skip
    found = [
        PointFigures(name, point, 6, 6, {"ns_per_switch": Measured(1000.0)})
        for name, point in zip(point_names(points), points, strict=True)
    ]
    charts = sweep_charts([Swept("old", found), Swept("new", found)])
    assert len(charts) == MOST_CHARTS
    for one in charts:
        assert [name.partition(",")[0] for _, name in one.keys] == ["old", "new"]
    assert "(sets of 0 B)" in charts[0].chart.caption
    # What is not drawn is said: 8 settings of each side.
    assert "16 more series are not drawn" in charts[-1].chart.caption
    first, second = sweep_charts([Swept("", found)])
    assert (len(first.keys), len(second.keys)) == (MOST_SERIES, 20 - MOST_SERIES)
    assert "(1 of 2)" in first.chart.caption


def test_a_side_is_the_median_of_its_runs_in_what_was_counted_too() -> None:
    def run(flushes: float) -> Run:
        of = trial_examples.switch()
        points = [replace(one, facts={**one.facts, "flushes_per_switch": flushes})
                  for one in of.points]  # fmt: skip
        return Run("r", {}, trials=replace(of, points=points))

    (side,) = swept_by([Arm("a", (run(0.0), run(1.0), run(1.0)))])
    assert {one.facts["flushes_per_switch"] for one in side.points} == {1.0}


def test_a_screen_names_the_clock_source() -> None:
    assert "clock source hpet" in subject(replace(trial_examples.clock(), clock_source="hpet"))
    assert "clock source" not in subject(trial_examples.switch())


def test_what_is_behind_the_target_is_said_where_it_is_something_else() -> None:
    facts = {"backing": "small pages", "target_backing": "transparent huge pages", "frames": 7}
    found = trial_examples.memory()
    points = [replace(found.points[4], facts=facts)]
    text = " ".join(printed(replace(found, points=points), 200).split())
    assert "small pages, 7 frames; of the target transparent" in text


def test_nothing_that_a_board_says_is_markup(tmp_path: Path) -> None:
    found = trial_examples.memory()
    page = render_trials(found, app_manifest([]))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src &#39;none&#39;" in page
    write_trials(tmp_path / "report.html", found, app_manifest([]))
    assert (tmp_path / "report.html").read_text() == page
