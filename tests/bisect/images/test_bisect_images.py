"""`whylate bisect images` with --apply on this machine: a line is found, also after a kill.

The "board" is a directory into which a command unpacks each hybrid; its program does more the fewer
huge pages one line of etc/rc.local asks for. Two libraries only run together.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bisect_roots import write_root

PROGRAM = """\
count=20000
if grep -q always {board}/etc-rc.local; then count=2000; fi
while [ $count -gt 0 ]; do count=$((count - 1)); done
"""
FILES = 12
#: A hybrid that does not run is tried again at once.
MAIN = """\
from whylate.cli import main
from whylate.bisect.sets import carry_out

carry_out.PAUSE_S = 0.0
main()
"""
#: Runs before everything is killed.
KILLED_AFTER = 24


def write_sides(directory: Path, count: int = FILES) -> tuple[Path, Path]:
    """Write two roots with more than so many differences, of which one line matters."""
    sides = []
    for name, pages in (("vendor", "always"), ("ours", "never")):
        files = {f"usr/share/{number}": f"{name} {number}\n" for number in range(count)}
        files |= {"lib/one": name, "lib/other": name, "etc/stubborn": f"{name}\n"}
        files["etc/rc.local"] = f"#!/bin/sh\n# {name}\necho {pages} >enabled\nexit 0\n"
        sides.append(write_root(directory / name, files))
    return sides[0], sides[1]


def command(directory: Path, sides: tuple[Path, Path]) -> list[str]:
    board = directory / "board"
    board.mkdir()
    program = directory / "program"
    program.write_text(PROGRAM.format(board=board))
    plan = directory / "plan.toml"
    plan.write_text(f"warm_up = 'none'\n[cmd]\ncommand = ['sh', '{program}']\nrounds = 1\n")
    apply = f"{sys.executable} {Path(__file__).with_name('apply_hybrid.py')} {board}"
    return [sys.executable, "-c", MAIN, "bisect", "images", *map(str, sides), str(plan),
            "-o", str(directory / "b"), "--statistic", "CPU time", "--apply", apply,
            "--junit", str(directory / "junit.xml")]  # fmt: skip


@pytest.fixture(scope="module")
def bisection(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Bisect, kill it, resume it; return its directory and the document."""
    directory = tmp_path_factory.mktemp("images")
    words = command(directory, write_sides(directory))
    lines = directory / "b/runs.jsonl"
    with subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True) as process:
        deadline = time.monotonic() + 200
        while not lines.exists() or lines.read_bytes().count(b"\n") < KILLED_AFTER:
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
    kept = lines.read_bytes()
    done = subprocess.run(
        [*words, "--json"], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert lines.read_bytes().startswith(kept[: kept.rindex(b"\n")])
    return directory, json.loads(done.stdout)


def test_the_line_is_found_and_confirmed_both_ways(
    bisection: tuple[Path, dict[str, Any]],
) -> None:
    document = bisection[1]
    assert document["answer"] == "culprits", document
    (culprit,) = document["culprits"]
    assert culprit["difference"] == "etc/rc.local:3"
    for way in ("first_with_second", "second_with_first"):
        assert document["confirmation"][way]["low"] > 0.7


def test_what_does_not_run_is_untestable_and_what_is_not_taken_is_known(
    bisection: tuple[Path, dict[str, Any]],
) -> None:
    document = bisection[1]
    names = [item["difference"] for item in document["differences"]]
    libraries = [names.index(f"lib/{name}:1") for name in ("one", "other")]
    stubborn = str(names.index("etc/stubborn:1"))
    apart = 0
    for run in document["runs"]:
        planned = [number in numbers_of(run["planned"]) for number in libraries]
        assert (run["value"] is None) == (planned[0] != planned[1])
        apart += planned[0] != planned[1]
        if run["purpose"] != "end" and run["value"] is not None:
            assert int(stubborn) not in numbers_of(run["in_force"])
        if run["value"] is None:
            assert "do not run together" in run["untestable"]
    # They are tied together soon.
    assert 1 <= apart < 30


def numbers_of(ranges: list[str]) -> set[int]:
    """Return the numbers of ranges such as 3-9."""
    numbers: set[int] = set()
    for text in ranges:
        first, _, last = text.partition("-")
        numbers |= set(range(int(first), int(last or first) + 1))
    return numbers


def test_pages_and_junit_have_the_answer_and_hybrids_are_removed(
    bisection: tuple[Path, dict[str, Any]],
) -> None:
    directory = bisection[0]
    page = (directory / "b/report.html").read_text()
    assert "etc/rc.local:3" in page
    junit = (directory / "junit.xml").read_text()
    assert 'failures="1"' in junit
    assert "etc/rc.local:3" in junit
    assert not (directory / "b/hybrids").exists()
    assert not (directory / "b/pool").exists()


def test_a_gap_that_is_in_what_is_kept_is_in_none_of_the_differences_listed(tmp_path: Path) -> None:
    words = command(tmp_path, write_sides(tmp_path, 300))
    # The libraries only run together, which is not the question here.
    words += ["--keep", "etc/rc.local", "--pin", "lib/*", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["answer"] == "not among the differences", document
    assert "culprits" not in document
    assert len(document["differences"]) >= 300
    assert "None of the differences makes the gap." in (tmp_path / "b/report.html").read_text()
