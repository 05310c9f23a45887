"""`whylate import` and `report` of tables of executions: published figures, and hostile tables."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from whylate.cli import whylate

CORPUS = Path(__file__).parents[1] / "recording" / "corpus" / "files"
MARKS = CORPUS / "lite-tracer-marks.csv"
LONGEST = CORPUS / "do-local-timer-pmu.csv"


def run(*words: object) -> Result:
    result = CliRunner().invoke(
        whylate, [str(word) for word in words], env={"COLUMNS": "80", "NO_COLOR": "1"}
    )
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def imported(file: Path, to: Path) -> Path:
    assert run("import", file, "-o", to).exit_code == 0
    return to


def document(recording: Path) -> dict[str, Any]:
    result = run("report", recording, "--json")
    assert result.exit_code == 0
    loaded: dict[str, Any] = json.loads(result.stdout)
    return loaded


def printed(result: Result) -> str:
    return " ".join(result.stdout.split())


def write(file: Path, heading: str, rows: Sequence[tuple[object, ...]]) -> Path:
    lines = [heading, *(",".join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines) + "\n")
    return file


def test_the_published_marks_have_the_published_differences_and_their_class(tmp_path: Path) -> None:
    result = run("import", MARKS, "-o", tmp_path / "r")
    assert "10 rows of cycles, icache_stall_cycles, instructions" in printed(result)
    summary = document(tmp_path / "r")
    assert summary["format"] == "whylate-import-summary"
    assert (summary["executions"], summary["rows"]) == (5, 10)
    assert summary["marks"] == {"first": "do_local_timer+0x40", "second": "do_local_timer+0x80"}
    listed = summary["listed"]
    values = {name: [row["values"][name] for row in listed] for name in listed[0]["values"]}
    assert values["cycles"] == [31945, 31642, 31310, 31909, 33012]
    assert values["icache_stall_cycles"] == [22343, 23329, 23214, 23594, 24425]
    assert values["instructions"] == [2865, 2847, 2863, 2863, 2863]
    assert values["at_us"] == [87, 87, 86, 87, 90]
    assert [row["class"] for row in listed] == ["instruction side"] * 5
    assert summary["classes"] == {"instruction side": 5, "spinning": 0, "unexplained": 0}
    assert summary["evidence"]["instruction_stalls"] == "icache_stall_cycles"
    text = printed(run("report", tmp_path / "r"))
    assert "5 executions = 10 marks in pairs, do_local_timer+0x40 to do_local_timer+0x80" in text
    assert "5 33,012 24,425 2,863 90 instruction side" in text
    assert "missing columns whose headings name no counter" in text
    assert "'high_water_us'" in text


def test_the_published_table_has_the_published_line(tmp_path: Path) -> None:
    made = imported(LONGEST, tmp_path / "r")
    text = printed(run("report", made))
    assert "cycles = 8505 + 1.019 · icache_stall_cycles" in text
    assert "r = 0.947, n = 11" in text
    assert "name no cause; of outliers that were selected for being long both are biased" in text
    assert "no classes: classes take counters" in text
    assert "there is none of instructions" in text
    (fit,) = document(made)["fits"]
    assert fit["low"] < 1 < fit["high"]
    assert fit["refused"] is None


def test_each_counter_has_its_figures(tmp_path: Path) -> None:
    rows = [(n, 1000 + n % 7, 2850) for n in range(150)] + [(150, 2900, 8550)]
    made = imported(write(tmp_path / "t.csv", "time_us,cycles,insn", rows), tmp_path / "r")
    cycles, insn = document(made)["counters"]
    assert (insn["name"], insn["n"], insn["smallest"], insn["largest"]) == ("insn", 151, 2850, 8550)
    assert insn["median"] == 2850
    assert insn["mean"] == pytest.approx(2850 + 5700 / 151)
    assert insn["most_frequent"] == 2850
    assert insn["largest_ratio"] == pytest.approx(3)
    assert insn["no_ratio"] is None
    assert cycles["largest_ratio"] == pytest.approx(2900 / 1003)
    assert "3×" in printed(run("report", made))


def test_where_there_are_too_few_values_the_reason_is_given(tmp_path: Path) -> None:
    made = imported(LONGEST, tmp_path / "r")
    assert "– the most frequent value takes 100 values; there are 11" in printed(
        run("report", made)
    )
    assert all(row["largest_ratio"] is None for row in document(made)["counters"])


@pytest.mark.parametrize("n", [1, 2])
def test_no_line_and_no_class_of_fewer_than_three(n: int, tmp_path: Path) -> None:
    rows = [(n, 9 * n, 5, 8 * n) for n in range(1, n + 1)]
    file = write(tmp_path / "t.csv", "duration_ns,cycles,instructions,l1i_stall", rows)
    made = imported(file, tmp_path / "r")
    text = printed(run("report", made))
    assert f"a line takes 3 points; there are {n}" in text
    assert f"classes take 3 executions, for the others show what is typical; there are {n}" in text
    summary = document(made)
    assert all(fit["slope"] is None and fit["refused"] for fit in summary["fits"])
    assert summary["classes"] is None
    assert "name no cause" not in text


def test_without_cycles_a_line_is_of_the_duration(tmp_path: Path) -> None:
    rows = [(10 + 2 * n, n, 7) for n in range(5)]
    file = write(tmp_path / "t.csv", "duration_ns,l1i_stall,insn", rows)
    text = printed(run("report", imported(file, tmp_path / "r")))
    assert "duration_ns = 10 + 2 · l1i_stall" in text
    assert "duration_ns by insn: no line, for all x are equal" in text


def test_a_falling_line_has_a_minus(tmp_path: Path) -> None:
    rows = [(100 - 2 * n, n) for n in range(5)]
    made = imported(write(tmp_path / "t.csv", "cycles,insn", rows), tmp_path / "r")
    assert "cycles = 100 − 2 · insn" in printed(run("report", made))


def test_spinning_is_named_among_executions_that_do_not(tmp_path: Path) -> None:
    rows = [(20_000 + n, 2850 + n, 12_000 + n, "f") for n in range(30)] + [
        (45_000, 8200, 13_000, "f"),
        (60_000, 2850, 12_000, "g"),
    ]
    file = write(tmp_path / "t.csv", "cycles,instructions,l1i_stall,where", rows)
    made = imported(file, tmp_path / "r")
    summary = document(made)
    assert summary["marks"] is None
    assert summary["classes"] == {"instruction side": 30, "spinning": 1, "unexplained": 1}
    assert [row["class"] for row in summary["listed"][-2:]] == ["spinning", "unexplained"]
    assert summary["listed"][-1]["place"] == "g"
    text = printed(run("report", made))
    # The longest are printed.
    assert "31 f 45,000 8,200 13,000 spinning" in text
    assert "and 12 shorter executions" in text


def test_running_totals_without_marks_are_noticed(tmp_path: Path) -> None:
    rows = [(100 * n, 9 * n) for n in range(1, 6)]
    made = imported(write(tmp_path / "t.csv", "cycles,insn", rows), tmp_path / "r")
    assert "as running totals do" in printed(run("report", made))
    rows[-1] = (1, 1)
    made = imported(write(tmp_path / "t.csv", "cycles,insn", rows), tmp_path / "s")
    assert "as running totals do" not in printed(run("report", made))


@pytest.mark.parametrize("option", ["--bencher", "--lava", "--kcidb"])
def test_other_systems_get_no_executions(option: str, tmp_path: Path) -> None:
    made = imported(MARKS, tmp_path / "r")
    words = [option] if option == "--lava" else [option, str(tmp_path / "x")]
    if option == "--kcidb":
        words += ["--build", "me:1"]
    result = run("report", made, *words)
    assert result.exit_code == 2
    assert f"{option} is not for imported recordings" in result.stderr


def test_a_limit_is_for_latencies(tmp_path: Path) -> None:
    result = run("report", imported(MARKS, tmp_path / "r"), "--require", "max<1ms")
    assert result.exit_code == 2
    assert "--require is for latencies, and these are executions" in result.stderr


def test_compare_takes_one_column_of_executions_and_of_marks_the_differences(
    tmp_path: Path,
) -> None:
    text = MARKS.read_text()
    (tmp_path / "t.csv").write_text(text.replace("4112153", "4112154"))
    made = [imported(MARKS, tmp_path / "a"), imported(tmp_path / "t.csv", tmp_path / "b")]
    result = CliRunner().invoke(whylate, ["compare", *map(str, made)])
    wanted = "executions with counters: choose one with --column ('cycles', 'icache_stall_cycles'"
    assert wanted in str(result.exception)
    result = run("compare", *made, "--column", "cycles", "--json")
    sides = json.loads(result.stdout)
    (row,) = sides["statistics"]
    assert row["first"] == pytest.approx(31963.6, rel=0.01)


class Page(HTMLParser):
    """Tags, and the text outside of styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def page_of(recording: Path) -> str:
    assert run("report", recording).exit_code == 0
    return (recording / "report.html").read_text()


def test_the_page_has_a_scattergram_for_each_counter_with_its_line(tmp_path: Path) -> None:
    made = imported(MARKS, tmp_path / "r")
    text = page_of(made)
    page = Page(text)
    assert page.tags.count("circle") == 2 * 5
    # A line, and the interval of its mean.
    assert page.tags.count("polyline") == 2 * 2
    assert "cycles by icache_stall_cycles" in page.text
    assert "cycles by instructions" in page.text
    assert text.count('class="dot arm0"') == 2 * 5
    assert "instruction side" in page.text
    assert "script" not in page.tags
    assert "script-src &#39;none&#39;" in text
    assert str(made / "report.html") in document(made)["report"]


def test_the_colour_of_a_dot_is_its_class(tmp_path: Path) -> None:
    rows = [(20_000 + n, 2850, 12_000 + n) for n in range(5)]
    rows += [(45_000, 8200, 13_000), (60_000, 2850, 12_000)]
    file = write(tmp_path / "t.csv", "cycles,instructions,l1i_stall", rows)
    text = page_of(imported(file, tmp_path / "r"))
    assert [text.count(f'class="dot arm{n}"') for n in range(3)] == [2 * 5, 2, 2]
    assert re.search(r'arm1"[^>]*><title>execution 6: spinning', text)
    assert re.search(r'arm2"[^>]*><title>execution 7: unexplained', text)


@pytest.mark.parametrize(
    "rows",
    [
        [(50 + 10 * n, n) for n in range(11)],
        # The line of a curve leaves the chart at its bottom, or at its top.
        [(n * n * n, n) for n in range(12)],
        [(1000 - n * n * n, n) for n in range(9)],
    ],
)
def test_the_fitted_line_is_drawn_where_it_is_and_within_the_chart(
    rows: list[tuple[int, int]], tmp_path: Path
) -> None:
    """Places of the first and the last dot say where any point is."""
    made = imported(write(tmp_path / "t.csv", "cycles,insn", rows), tmp_path / "r")
    text = page_of(made)
    (line,) = re.findall(r'<polyline class="curve model" points="([^"]+)"', text)
    dots = re.findall(r'cx="([0-9.]+)" cy="([0-9.]+)"', text)
    (left, top), (right, bottom) = (tuple(map(float, dots[at])) for at in (0, -1))
    (first_y, first_x), (last_y, last_x) = rows[0], rows[-1]
    (fit,) = document(made)["fits"]
    ends = [tuple(map(float, point.split(","))) for point in line.split()]
    assert len(ends) == 2
    for x, y in ends:
        insn = first_x + (x - left) / (right - left) * (last_x - first_x)
        cycles = first_y + (y - top) / (bottom - top) * (last_y - first_y)
        size = abs(last_y - first_y)
        assert cycles == pytest.approx(fit["intercept"] + fit["slope"] * insn, abs=0.01 * size)
        assert 100 <= x <= 984
        assert 12 <= y <= 216
    assert ends[1][0] - ends[0][0] > 400


def test_what_a_table_names_is_text_on_the_page(tmp_path: Path) -> None:
    heading = '"<script>alert(1)</script> cycles","insn"" onload=alert(1) x=""",where,\x1b[31mid'
    rows = [(n, n, '"</title><img src=x onerror=alert(1)>"', n) for n in range(1, 5)]
    file = write(tmp_path / "<b>t.csv", heading, rows)
    made = imported(file, tmp_path / "r")
    page, harmless = Page(page_of(made)), Page(page_of(imported(LONGEST, tmp_path / "s")))
    assert set(page.tags) - {"small"} <= {*harmless.tags, "td"}
    assert page.tags.count("b") == 1
    assert not {"onload", "onerror", "src"} & set(page.attributes)
    assert "<script>alert(1)</script> cycles" in page.text
    result = run("report", made)
    assert "\x1b" not in result.stdout
    assert "<script>alert(1)</script> cycles" in printed(result)


def test_a_page_of_many_executions_has_a_bounded_number_of_dots(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    stalls = rng.integers(0, 20_000, 30_000)
    cycles = stalls + rng.integers(3_000, 20_000, 30_000)
    rows = [*zip(cycles.tolist(), [2850] * 30_000, stalls.tolist(), strict=True), (2**53, 9, 9)]
    file = write(tmp_path / "t.csv", "cycles,instructions,l1i_stall", rows)
    made = imported(file, tmp_path / "r")
    page = page_of(made)
    assert 10 < page.count("<circle") < 20_000
    assert len(page) < 4_000_000
    shown = [int(count.replace(",", "")) for count in re.findall(r"<title>([0-9,]+) exec", page)]
    assert sum(shown) + len(re.findall(r"<title>execution ", page)) == 2 * 30_001
    summary = document(made)
    assert len(summary["listed"]) == 1000
    assert summary["listed"][-1]["values"]["cycles"] == 2**53
