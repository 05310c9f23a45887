"""Benchmarks on a screen and on a page: every point, its refusals, and plain text alone."""

from __future__ import annotations

import io
from pathlib import Path

import benchmark_examples
import pytest
from msgspec.structs import replace
from rich.console import Console

from app_runs import app_manifest
from whylate.compare.runs import Arm, Run
from whylate.quantities import format_estimate, format_number
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.point_names import point_names
from whylate.recording.workloads.switch import SwitchPoint
from whylate.report.page.benchmark import render_benchmark, write_benchmark
from whylate.report.plots.chart import HEIGHT, LEFT, WIDTH
from whylate.report.plots.sweeps import MOST_CHARTS, MOST_SERIES, Side, sides_of, sweep_charts
from whylate.report.terminal.benchmark import print_benchmark, shorten_names, subject
from whylate.summary.benchmarks.model import BenchmarkSummary, Fact, Measured
from whylate.summary.benchmarks.summarizer import Measurement
from whylate.summary.workloads.memory import MemorySummarizer
from whylate.summary.workloads.switch import SwitchSummarizer

EXAMPLES = [benchmark_examples.memory, benchmark_examples.switch, benchmark_examples.clock]


def printed(summary: BenchmarkSummary, width: int = 100) -> str:
    out = io.StringIO()
    print_benchmark(summary, Console(file=out, width=width, highlight=False), "/r/report.html")
    return out.getvalue()


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_screen_names_every_point_and_sends_nothing_of_the_board(example: object) -> None:
    found = example()  # type: ignore[operator]
    text = printed(found, 160)
    heading, names = shorten_names([point.name for point in found.points])
    for name in (heading, *names):
        assert name in text
    assert "\x1b" not in text
    assert "\\x1b[31m" in text


def test_a_screen_says_what_was_refused_and_what_was_predicted() -> None:
    text = printed(benchmark_examples.memory())
    assert "refused" in text
    assert "no verdict" in text
    clock = printed(benchmark_examples.clock())
    assert "predicted, not measured" in clock
    assert "off by × 1.07" in clock
    assert "0 of 12,345" in clock


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (1234.4, "1,234"), (56.784, "56.78"), (0.00012345, "0.0001234"), (2e-8, "0"),
     (3e-5, "0.00003"), (-12.5, "−12.5")],
)  # fmt: skip
def test_numbers_are_written_without_powers_of_ten(value: float, text: str) -> None:
    assert format_number(value) == text


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_page_draws_what_was_swept_inside_its_box(example: object) -> None:
    found = example()  # type: ignore[operator]
    charts = sweep_charts([Side("", found.points)], found.curves)
    assert charts
    for one in charts:
        for line in one.chart.lines:
            places = [tuple(map(float, pair.split(","))) for pair in line.points.split()]
            assert all(LEFT <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in places)


def test_sizes_are_a_line_for_each_thing_done_and_refused_points_are_none() -> None:
    (chart,) = sweep_charts([Side("", benchmark_examples.memory().points)])
    assert [name for _, name in chart.keys] == [
        "copy, untouched source", "copy, random source", "set",
    ]  # fmt: skip
    assert len(chart.chart.dots) == 11


def test_sides_are_laid_over_each_other() -> None:
    points = benchmark_examples.switch().points
    (twice, _) = sweep_charts([Side("run", points), Side("run", points)])
    assert [name for _, name in twice.keys] == ["run (1)", "run (2)"]
    time, flushes = sweep_charts([Side("old", points), Side("new", points)])
    assert [name for _, name in time.keys] == ["old", "new"]
    assert "flushes" in flushes.chart.caption


def test_no_side_is_left_out_of_charts_of_many_settings() -> None:
    points: list[BenchmarkPoint] = [SwitchPoint(tasks, set_bytes=size << 10)
                           for tasks in (2, 8) for size in range(20)]  # fmt: skip
    found = [
        SwitchSummarizer.present(
            name, point, 6, 6, Measurement({"ns_per_switch": Measured(1000.0)})
        )
        for name, point in zip(point_names(points), points, strict=True)
    ]
    charts = sweep_charts([Side("old", found), Side("new", found)])
    assert len(charts) == MOST_CHARTS
    for one in charts:
        assert [name.partition(",")[0] for _, name in one.keys] == ["old", "new"]
    assert "(sets of 0 B)" in charts[0].chart.caption
    # What is not drawn is said: 8 settings of each side.
    assert "16 more series are not drawn" in charts[-1].chart.caption
    first, second = sweep_charts([Side("", found)])
    assert (len(first.keys), len(second.keys)) == (MOST_SERIES, 20 - MOST_SERIES)
    assert "(1 of 2)" in first.chart.caption


def test_a_side_is_the_median_of_its_runs_in_what_was_counted_too() -> None:
    def run(flushes: float) -> Run:
        summary = benchmark_examples.switch()
        points = [replace(point, plots={**point.plots, caption: Measured(flushes)})
                  for point in summary.points]  # fmt: skip
        return Run("r", {}, benchmark=replace(summary, points=points))

    (*_, caption) = benchmark_examples.switch().points[0].plots
    assert "flushes" in caption

    (side,) = sides_of([Arm("a", (run(0.0), run(1.0), run(1.0)))])
    assert {point.plots[caption].value for point in side.points} == {1.0}


def test_the_subject_has_what_else_was_set() -> None:
    hpet = replace(benchmark_examples.clock(), context=["the kernel's clock source hpet"])
    assert "clock source hpet" in subject(hpet)
    assert "clock source" not in subject(benchmark_examples.switch())


def test_the_pages_of_the_target_are_shown_where_they_differ() -> None:
    facts: dict[str, Fact] = {
        "backing": "small pages",
        "target_backing": "transparent huge pages",
        "frames": 7,
    }
    texts = MemorySummarizer.texts(facts, "")
    assert texts["pages"] == "small pages, 7 frames; target: transparent huge pages"
    found = benchmark_examples.memory()
    points = [replace(found.points[4], texts=texts)]
    text = " ".join(printed(replace(found, points=points), 200).split())
    assert "small pages, 7 frames; target: transparent" in text


def test_an_interval_stands_beside_its_figure_where_both_fit() -> None:
    wide = printed(benchmark_examples.memory(), 100)
    assert "30.0 [27.0, 36.0]" in wide
    narrow = printed(benchmark_examples.clock(), 50)
    assert "3,000" in narrow
    assert "3,000 [" not in narrow


def test_facts_that_all_points_share_are_one_line() -> None:
    text = printed(benchmark_examples.clock(), 100)
    assert "system call: yes" in text
    assert text.count("yes") == 1


@pytest.mark.parametrize(
    ("names", "heading", "short"),
    [
        (["2 tasks", "4 tasks"], "tasks", ["2", "4"]),
        (["copy 64 KiB", "copy 1 MiB"], "copy", ["64 KiB", "1 MiB"]),
        (["copy 64 KiB", "set 64 KiB"], "64 KiB", ["copy", "set"]),
        (["wall time"], "", ["wall time"]),
        (["a", "a b"], "", ["a", "a b"]),
    ],
)
def test_names_of_rows_leave_out_what_all_share(
    names: list[str], heading: str, short: list[str]
) -> None:
    assert shorten_names(names) == (heading, short)


@pytest.mark.parametrize(
    ("estimate", "texts"),
    [
        ((38.12, 26.5, 45.51), ("38.1", "[26.5, 45.5]")),
        ((23.63, 23.58, 23.66), ("23.63", "[23.58, 23.66]")),
        ((2211.0, 2192.0, 2224.0), ("2,211", "[2,192, 2,224]")),
        ((-3.323, -4.0, -2.5), ("−3.32", "[−4.00, −2.50]")),
        ((0.0008033, 0.0007646, 0.001143), ("0.000803", "[0.000765, 0.001143]")),
        ((12.5, None, None), ("12.5", "")),
        ((5.0, 5.0, 5.0), ("5.000", "[5.000, 5.000]")),
    ],
)  # fmt: skip
def test_a_figure_and_its_interval_have_equal_decimals(
    estimate: tuple[float, float | None, float | None], texts: tuple[str, str]
) -> None:
    assert format_estimate(*estimate) == texts


def test_nothing_that_a_board_says_is_markup(tmp_path: Path) -> None:
    found = benchmark_examples.memory()
    page = render_benchmark(found, app_manifest([]))
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "default-src &#39;none&#39;" in page
    write_benchmark(tmp_path / "report.html", found, app_manifest([]))
    assert (tmp_path / "report.html").read_text() == page
