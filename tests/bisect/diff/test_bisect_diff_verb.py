"""`whylate bisect diff` as people call it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import starts
from bisect_roots import enter, write_root
from whylate.bisect.differences.find import find_differences
from whylate.bisect.differences.terminal import tree_lines
from whylate.bisect.kinds import Kind
from whylate.bisect.sides.read import read_side

pytestmark = pytest.mark.machine


def diff(*words: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return starts.run(
        [sys.executable, "-m", "whylate", "bisect", "diff", *map(str, words)],
        check=False, capture_output=True, text=True, cwd=cwd,
        env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip


@pytest.fixture
def roots(tmp_path: Path) -> tuple[Path, Path]:
    roots = tmp_path / "fast", tmp_path / "slow"
    for root, version in zip(roots, ("1", "2"), strict=True):
        enter(root, "tool", ["/usr/bin/tool"], f"Version: {version}")
        write_root(root, {f"usr/share/{number}": version for number in range(20)})
        write_root(root, {"usr/bin/tool": version, "etc/a.conf": f"a = {version}\nb = 1\n"})
    (roots[1] / os.fsdecode(b"etc/\xff")).write_text("x")
    return roots


def test_counts_come_first_then_the_tree_then_what_is_not_comparable(
    roots: tuple[Path, Path],
) -> None:
    done = diff(*roots)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["kind", "differ"]
    counts = {line.rsplit(maxsplit=1)[0]: line.split()[-1] for line in lines[1:4]}
    assert "packages" in lines[1]
    assert lines[1].split() == ["packages", "1"]
    assert lines[2].split() == ["files", "23", "1"], counts
    tree = done.stdout[done.stdout.index("packages:") :]
    assert tree.startswith("packages:\n  tool  1 → 2\n    file usr/bin/tool  1 bytes")
    assert "    line etc/a.conf:1  a = 1 → a = 2\n" in tree
    assert "… more: " in tree
    assert "not comparable: sysctls and sysfs settings, IRQ affinities" in tree
    assert "usr/share/19" not in tree
    assert "usr/share/19" in diff(*roots, "--all").stdout


def test_all_prints_each_difference_once(roots: tuple[Path, Path]) -> None:
    sides = [read_side(str(root), lambda _: None) for root in roots]
    differences = find_differences(sides[0], sides[1])
    lines = list(tree_lines(differences, everything=True))
    assert len([line for line in lines if " → " in line]) == len(differences.listed)
    shown = list(tree_lines(differences))
    hidden = sum(
        int(word.split()[0]) for line in shown if "… more: " in line
        for word in line.partition("more: ")[2].split(", ")
    )  # fmt: skip
    lines_shown = len([line for line in shown if " → " in line])
    # What lies below a hidden difference is counted by nobody.
    below = {difference.parent for difference in differences.listed if difference.parent}
    assert 0 < hidden <= len(differences.listed) - lines_shown
    assert below


def test_json_has_everything_with_ids_that_stay(roots: tuple[Path, Path]) -> None:
    done = diff(*roots, "--json", "--exclude", "usr/share/*", "--keep", "package:tool")
    document = json.loads(done.stdout)
    assert (document["format"], document["version"]) == ("whylate-bisect-diff", 1)
    assert document["excluded"] == 40
    assert document["counts"] == {"package": 1, "file": 3, "line": 2}
    by_name = {difference["name"]: difference for difference in document["differences"]}
    assert by_name["usr/bin/tool"]["parent"] == by_name["tool"]["id"]
    assert by_name["usr/bin/tool"]["kept"] is True
    assert by_name["etc/a.conf"]["kept"] is False
    assert by_name["etc/a.conf:1"]["means"] == {"method": "line", "target": "etc/a.conf"}
    assert "etc/\\udcff" in by_name
    again = json.loads(diff(*roots, "--json", "--exclude", "usr/share/*").stdout)
    assert [row["id"] for row in again["differences"]] == [
        row["id"] for row in document["differences"]
    ]
    kinds = {kind.value for kind in Kind}
    assert {row["kind"] for row in document["not_compared"]} <= kinds


def test_a_side_against_itself_differs_in_nothing(roots: tuple[Path, Path]) -> None:
    done = diff(roots[0], roots[0])
    assert done.returncode == 0
    assert done.stdout.startswith("Nothing that both sides show differs.\n")


def test_what_is_no_side_is_one_line_and_wrong_use(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello " * 900)
    done = diff(tmp_path / "text", tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"whylate: {tmp_path}/text is no side: expected")
    gone = diff(tmp_path / "gone", tmp_path)
    assert gone.returncode == 2
    assert "gone is not there: name a board" in gone.stderr
    unknown = diff("board99", tmp_path)
    assert unknown.returncode == 3
    assert "unknown board" in unknown.stderr
    assert "Traceback" not in done.stderr + gone.stderr + unknown.stderr


def test_a_board_comes_before_a_file_of_its_name(
    roots: tuple[Path, Path], tmp_path: Path, probe: list[str]
) -> None:
    assert probe
    (tmp_path / "local").symlink_to(roots[0])
    as_board = json.loads(diff("local", roots[1], "--json", cwd=tmp_path).stdout)
    assert "file" in {row["kind"] for row in as_board["not_compared"]}
    assert "file" not in as_board["counts"]
    as_file = diff("./local", roots[1], "--json", cwd=tmp_path)
    assert json.loads(as_file.stdout)["counts"]["package"] == 1
