"""`whylate report` of several recordings: groups, percentiles, and what is said of them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import msgspec
import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from made_recordings import recording

from section_examples import executions, recorded
from whylate.cli import whylate
from whylate.compare.overlay import Overlay, OverlayRun, ShapePair, overlay_recordings
from whylate.report.overlay import findings
from whylate.report.page.overlay import render_overlay
from whylate.summary.model import Trust

ROWS = 2_000
HOSTILE = '</script><img src=x onerror="window.hit=1">[bold red]x[/]\x1b[2J\x07'
DATA = Path(__file__).parents[1] / "recording" / "data"


def made(directory: Path, seed: int, *, tail: bool = False, rows: int = ROWS) -> Path:
    """Return a recording; with a tail every tenth latency is three times as long."""
    rng = np.random.default_rng([81, seed])
    values = 5_000 * (1 + seed) * np.exp(0.1 * rng.standard_normal(rows))
    values[rng.random(rows) < 0.1 * tail] *= 3
    return recording(directory, values.astype(np.int64))


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Four runs: 1, 2 and 4 of one shape."""
    folder = tmp_path_factory.mktemp("runs")
    return [made(folder / f"r{number}", number, tail=number == 3) for number in (1, 2, 3, 4)]


def run(*words: object) -> Result:
    return CliRunner().invoke(
        whylate, [str(word) for word in words], env={"COLUMNS": "80", "NO_COLOR": "1"}
    )


def test_runs_are_grouped_by_shape_with_percentiles_beside_each_other(
    four: list[Path], tmp_path: Path
) -> None:
    done = run("report", *four, "-o", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    text = " ".join(done.output.split())
    assert "The shapes of runs 1, 2 and 4 cannot be told from each other." in text
    assert "The shape of run 3 differs from each of those of 1, 2 and 4 (p ≤ 0.003" in text
    assert "times as high in 3 as in" in text
    assert re.search(r" 1 1 2,000 (9\.9|10\.0)\d* µs 11\.\d+ µs 12\.\d+ µs – ", text), text
    assert f"report {tmp_path / 'page.html'}" in text
    page = (tmp_path / "page.html").read_text()
    assert "The shapes of runs 1, 2 and 4 cannot be told from each other." in page
    # Linear, logarithmic, scaled to one peak, by group; and each run over time.
    assert page.count('<svg class="chart"') == 4 + 4
    assert "in multiples of the most frequent latency: is one run only stretched?" in page


def test_json_has_groups_and_every_pair(four: list[Path], tmp_path: Path) -> None:
    done = run("report", *four, "--json", "-o", tmp_path / "page.html")
    document = json.loads(done.output)
    assert document["format"] == "whylate-overlay"
    assert document["groups"] == [[1, 2, 4], [3]]
    assert [each["group"] for each in document["runs"]] == [1, 1, 2, 1]
    pairs = {(pair["first"], pair["second"]): pair for pair in document["pairs"]}
    assert len(pairs) == 6
    assert [names for names, pair in pairs.items() if pair["differ"]] == [(1, 3), (2, 3), (3, 4)]
    assert all(pair["p"] <= pair["adjusted"] for pair in pairs.values())
    assert document["runs"][0]["latency_ns"]["p50"]["low"] is not None
    assert document["runs"][1]["duration"]["most_frequent"] == pytest.approx(15_000, rel=0.1)


def test_same_recordings_have_the_same_groups_and_p(four: list[Path]) -> None:
    first, second = (overlay_recordings(four).overlay for _ in range(2))
    assert first == second


def test_a_short_run_and_one_without_a_verdict_are_in_no_group(
    four: list[Path], tmp_path: Path
) -> None:
    short = made(tmp_path / "short", 7, rows=700)
    rng = np.random.default_rng(1)
    distrusted = recording(tmp_path / "other", rng.integers(4_000, 6_000, ROWS), policy="other")
    done = run("report", four[0], short, distrusted, "-o", tmp_path / "page.html")
    text = " ".join(done.output.split())
    assert done.exit_code == 3
    assert "Run 2 is in no group: a shape needs 800 activations; it has 700." in text
    assert "Run 3 is in no group: there is no verdict on it (" in text
    assert "no verdict on run 3" in text
    assert "differs" not in text
    assert "No verdict on run 3" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--require", "max<1s"), "--require is for one recording: name one DIR"),
        (("--lava",), "--lava is for one recording"),
        (("--bencher", "b.json"), "--bencher is for one recording"),
        (("--folded", "f"), "--folded is for one recording"),
        (("--predict", "8"), "--predict is for one recording"),
    ],
)
def test_options_of_one_recording_are_refused(
    four: list[Path], words: tuple[str, ...], why: str
) -> None:
    done = run("report", *four[:2], *words)
    assert done.exit_code == 2
    assert why in done.output


def test_what_cannot_be_overlaid_is_refused(four: list[Path], tmp_path: Path) -> None:
    twice = run("report", four[0], four[0])
    assert twice.exit_code == 2
    assert "are one and the same run: it counts once" in twice.output
    recorded(tmp_path / "section")
    other = run("report", four[0], tmp_path / "section")
    assert other.exit_code == 2
    assert "is of the workload wakeup" in other.output
    assert "of section: overlay one workload" in " ".join(other.output.split())
    many = run("report", *[four[0]] * 17)
    assert many.exit_code == 2
    assert "17 recordings are too many: 16 at the most" in many.output


def test_sections_are_overlaid_and_their_names_are_no_markup(tmp_path: Path) -> None:
    recorded(tmp_path / "first")
    recorded(tmp_path / "second", function=HOSTILE, ran=executions()[:-1])
    overlaid = overlay_recordings([tmp_path / "first", tmp_path / "second"])
    assert overlaid.overlay.quantity == "duration"
    assert overlaid.overlay.cautions == ["the runs are of 2 different sections or programs"]
    page = render_overlay(overlaid)
    assert "<img" not in page
    assert "<script" not in page
    assert "All executions, on logarithmic scales" in page
    done = run("report", tmp_path / "first", tmp_path / "second", "-o", tmp_path / "p.html")
    assert "\x1b" not in done.output


def runs_of(count: int) -> list[OverlayRun]:
    return [
        OverlayRun(number, f"r{number}", "b", None, "", "wakeup", "", 1, Trust("ok", []), {}, None,
                   1, None)
        for number in range(1, count + 1)
    ]  # fmt: skip


def test_a_run_between_two_groups_is_said_to_fit_both() -> None:
    """1 and 3 differ, 2 fits either: complete linkage puts it with one of them."""
    pairs = [
        ShapePair(1, 2, 0.6, 0.6, False, None, None),
        ShapePair(1, 3, 0.001, 0.003, True, 0.99, 0.5),
        ShapePair(2, 3, 0.2, 0.4, False, 0.99, 0.8),
    ]
    overlay = Overlay("wakeup", "latency", "activations", runs_of(3), [[1, 2], [3]], pairs, 0.05,
                      1.05, [], [])  # fmt: skip
    assert findings(overlay) == [
        "The shapes of runs 1 and 2 cannot be told from each other.",
        (
            "Run 3 differs in shape from run 1 (p = 0.003): p99 is 2 times as high in 1 as in "
            "3, scaled onto each other. Not distinguished: 3 and 2."
        ),
    ]
    apart = msgspec.structs.replace(
        overlay, pairs=[*pairs[:2], msgspec.structs.replace(pairs[2], differ=True)]
    )
    assert findings(apart)[1].startswith(
        "The shape of run 3 differs from each of those of 1 and 2 (p ≤ 0.4): most clearly p99 is 2 "
    )


@pytest.mark.parametrize("name", ["switch", "memory", "clock", "cmd"])
def test_benchmarks_are_overlaid_point_by_point(name: str, tmp_path: Path) -> None:
    source = next(path for path in DATA.rglob(name) if (path / "manifest.json").exists())
    shutil.copytree(source, tmp_path / "a")
    shutil.copytree(source, tmp_path / "b")
    # Another run by its file, and the same by its numbers.
    file = next((tmp_path / "b").glob("*.parquet"))
    pq.write_table(pq.read_table(file), file, compression="gzip")
    done = run("report", tmp_path / "a", tmp_path / "b", "--json", "-o", tmp_path / "p.html")
    document = json.loads(done.output)
    assert document["workload"] == name
    assert document["groups"] == document["pairs"] == []
    assert document["points"]
    for point in document["points"]:
        first, second = point["figures"]
        assert first == second
        assert first["value"] > 0
    assert all("too few repetitions" in each["no_group"] for each in document["runs"])
    printed = run("report", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "p.html")
    assert printed.exit_code in (0, 3)
    assert document["points"][0]["name"].split()[0] in printed.output
    assert "cannot be told" not in printed.output
