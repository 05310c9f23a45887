"""Call paths of longer executions: from journals that are written by hand to tables and files."""

from __future__ import annotations

import html
import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from report_examples import HOSTILE
from rich.console import Console

import starts
from section_examples import Example, path, recorded
from whylate.report.exports.folded import folded_stacks
from whylate.report.page.latency import render_html
from whylate.report.terminal.latency import print_summary
from whylate.summary.as_json import to_json
from whylate.summary.model import PathsFigures
from whylate.wire.messages import Message, SectionPath

REST = path(longer=0)
#: What a program at the end of a function is called through, where that has a trampoline.
TRAMPOLINE = ("bpf_prog_49d60efd_function_exit+0x926 [bpf]", "__this_module+0x5de9 [virtio]")


def paths_of(example: Example) -> PathsFigures:
    paths = example.section.paths
    assert paths is not None
    return paths


def callers_of(example: Example) -> list[list[str]]:
    return [each.callers for each in paths_of(example).paths]


def printed(example: Example) -> str:
    out = io.StringIO()
    print_summary(example.summary, Console(file=out, width=100, color_system=None))
    return " ".join(out.getvalue().split())


def page(example: Example) -> str:
    text = render_html(example.summary, example.manifest, example.series)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def test_shares_are_of_longer_executions_and_of_the_control(tmp_path: Path) -> None:
    paths = paths_of(
        recorded(
            tmp_path / "r",
            path(longer=1, control=10, longest_ns=3_000, lost=7),
            path("rare+0x1", "main+0x2", longer=15, control=5, total_ns=60_000),
            path("often+0x1", "main+0x3", longer=4, control=85),
        )
    )
    assert (paths.above_ns, paths.longer, paths.control, paths.lost) == (2_000, 20, 100, 7)
    assert [(each.callers, each.longer, each.control) for each in paths.paths] == [
        (["rare", "main"], 15, 5),
        (["often", "main"], 4, 85),
        ([], 1, 10),
    ]
    assert [each.share for each in paths.paths] == [0.75, 0.2, 0.05]
    assert [each.control_share for each in paths.paths] == [0.05, 0.85, 0.1]
    assert [(each.total_ns, each.longest_ns) for each in paths.paths] == [
        (60_000, 9_000),
        (36_000, 9_000),
        (3_000, 3_000),
    ]


def test_paths_through_the_same_functions_are_one(tmp_path: Path) -> None:
    example = recorded(
        tmp_path / "r",
        REST,
        path("a+0x1/0x9", "b+0x2 [ext4]", longer=2, longest_ns=3_000, control=1),
        path("a+0x4/0x9", "b+0x2 [ext4]", longer=3, longest_ns=5_000),
        path("a+0x1/0x9", "c+0x2", longer=1, longest_ns=4_000),
    )
    assert [
        (each.callers, each.longer, each.total_ns, each.longest_ns, each.control)
        for each in paths_of(example).paths
    ] == [(["a", "b"], 5, 21_000, 5_000, 1), (["a", "c"], 1, 4_000, 4_000, 0)]


@pytest.mark.parametrize(
    ("names", "callers"),
    [
        # As on x86-64: the trampoline is no symbol, and gets the name of what lies before it.
        ((*TRAMPOLINE, "vfs_read+0x5", "ksys_read+0x1"), ["ksys_read"]),
        # The function calls itself.
        ((*TRAMPOLINE, "vfs_read+0x5", "vfs_read+0x1", "f"), ["vfs_read", "f"]),
        # Far away it is another execution's.
        (("a", "b", "c", "d", "vfs_read+0x5", "f"), ["a", "b", "c", "d", "vfs_read", "f"]),
        (("bpf_prog_1_pair_end+0x1", "bpf_trace_run2+0x1", "__traceiter_x+0x1", "f+0x1"), ["f"]),
        (("f+0x1", "", "g+0x2"), ["f", "?", "g"]),
        # There is nothing else.
        (("bpf_prog_1_pair_end+0x1",), ["bpf_prog_1_pair_end"]),
    ],
)
def test_what_is_below_the_end_of_the_section_is_none_of_its_callers(
    tmp_path: Path, names: tuple[str, ...], callers: list[str]
) -> None:
    assert callers_of(recorded(tmp_path / "r", REST, path(*names))) == [callers]


def test_terminal_and_page_show_both_shares(tmp_path: Path) -> None:
    example = recorded(
        tmp_path / "r",
        path(longer=0, lost=12),
        path("rare+0x1", "main+0x2", longer=15, control=5),
        path("often+0x1", "main+0x3", longer=5, control=95),
        path("unlikely+0x1", longer=0, control=2),
    )
    for text in (printed(example), page(example)):
        assert (
            "Call paths of 20 executions that took longer than 2 µs, and of 102 of the others, "
            "drawn at random" in text
        )
        assert "75.0 % 4.9 % 15 135 µs 9 µs rare ← main" in text
        assert "25.0 % 93.1 % 5 45 µs 9 µs often ← main" in text
        assert "unlikely" not in text
        assert "12 longer have no path: too many came at a time" in text


def test_more_paths_than_a_table_has_are_counted(tmp_path: Path) -> None:
    paths = [path(f"f{number}", longer=1 + number) for number in range(10)]
    example = recorded(tmp_path / "r", REST, *paths)
    assert "4 paths more are in the output of --json" in printed(example)
    assert "f0" in page(example)
    json_paths = json.loads(json.dumps(to_json(example.summary)))["section"]["paths"]
    assert [each["callers"] for each in json_paths["paths"]] == [[f"f{9 - n}"] for n in range(10)]


def test_without_a_median_there_is_no_path_and_the_text_says_what_to_do(tmp_path: Path) -> None:
    example = recorded(tmp_path / "r", path(longer=0, above_ns=0))
    assert paths_of(example).above_ns is None
    for text in (printed(example), page(example)):
        assert "name a limit with --keep-above TIME" in text


def test_names_of_a_board_are_escaped(tmp_path: Path) -> None:
    example = recorded(tmp_path / "r", REST, path(HOSTILE, HOSTILE))
    assert "\x1b" not in printed(example)
    text = render_html(example.summary, example.manifest, example.series)
    assert "<script>alert" not in text


def test_folded_stacks_begin_with_the_outermost_function(tmp_path: Path) -> None:
    example = recorded(
        tmp_path / "r",
        path(longer=2),
        path("f;g+0x1", "main 1+0x2", longer=15, control=5),
        path("never", longer=0, control=5),
    )
    assert folded_stacks(example.manifest) == ["main 1;f:g;vfs_read 15", "[no path];vfs_read 2"]


def run_report(directory: Path, folded: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "whylate", "report", str(directory), "--folded", str(folded)]
    return starts.run(command, capture_output=True, text=True, check=False)


def test_report_writes_folded_stacks_and_refuses_a_recording_without_paths(tmp_path: Path) -> None:
    recorded(tmp_path / "r", REST, path("f", "main", longer=3))
    recorded(tmp_path / "none")
    file = tmp_path / "folded"
    assert run_report(tmp_path / "r", file).returncode == 0
    assert file.read_text() == "main;f;vfs_read 3\n"
    refused = run_report(tmp_path / "none", tmp_path / "other")
    assert refused.returncode == 2
    assert "--folded needs a recording of whylate section --paths" in refused.stderr
    assert not (tmp_path / "other").exists()


#: More callers than the probe keeps.
TOO_DEEP = path(*("f" for _ in range(25)))
IMPOSSIBLE: dict[str, list[SectionPath]] = {
    "callers first": [path("f")],
    "two without callers": [REST, REST],
    "none": [REST, path("f", longer=0)],
    "two limits": [REST, path("f", above_ns=3_000)],
    "lost by a path": [REST, path("f", lost=1)],
    "more than the total": [REST, path("f", longer=2, total_ns=8_999)],
    "less than the total": [REST, path("f", longer=2, total_ns=18_001)],
    "not longer": [REST, path("f", longest_ns=2_000)],
    "longer than nothing": [path(longer=1, above_ns=0)],
    "too deep": [REST, TOO_DEEP],
    "too many": [REST, *(path(f"f{number}", longer=0, control=1) for number in range(512))],
}


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_paths_that_cannot_have_been_are_refused(tmp_path: Path, name: str) -> None:
    messages: list[Message] = [*IMPOSSIBLE[name]]
    problems = recorded(tmp_path / "r", *messages).manifest.problems
    assert problems[0].code == "journal"
    assert problems[0].text.startswith("1 record")


def test_more_paths_than_executions_are_fatal(tmp_path: Path) -> None:
    few = recorded(tmp_path / "few", path(longer=0, lost=300), path("f", longer=50, control=50))
    assert few.manifest.problems == []
    many = recorded(tmp_path / "many", path(longer=0, lost=300), path("f", longer=50, control=51))
    (problem,) = many.manifest.problems
    assert problem.fatal
    assert "401 have a path of 400" in problem.text
