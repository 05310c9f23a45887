"""The suite itself: which of its tests may run again, and the order of its groups."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from machine_lock import this_machine
from processes import lives
from suite_groups import read_durations
from waiting import came_true

TESTS = Path(__file__).parent
#: Places with the marker `flaky`. This number may only shrink.
MOST_FLAKY = 0


def flaky_markers() -> list[tuple[str, ast.Call | ast.Attribute]]:
    """Return each use of the marker: its file and line, and the call, if it is one."""
    found: list[tuple[str, ast.Call | ast.Attribute]] = []
    for path in sorted(TESTS.rglob("*.py")):
        tree = ast.parse(path.read_text())
        calls = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and node.attr == "flaky":
                place = f"{path.relative_to(TESTS)}:{node.lineno}"
                found.append((place, calls.get(id(node), node)))
    return found


def test_few_tests_may_run_again_and_each_says_why() -> None:
    markers = flaky_markers()
    for place, marker in markers:
        assert isinstance(marker, ast.Call), f"{place}: flaky without reruns and reason"
        words = {keyword.arg for keyword in marker.keywords}
        assert words >= {"reruns", "reason"}, f"{place}: flaky without a reason"
    assert len(markers) <= MOST_FLAKY, [place for place, _ in markers]


def test_groups_with_a_duration_are_files_that_exist() -> None:
    durations = read_durations()
    assert durations
    gone = [
        name for name in durations if name.endswith(".py") and not (TESTS.parent / name).exists()
    ]
    assert gone == []


@pytest.mark.machine
def test_a_test_that_holds_the_machine_may_hold_it_again() -> None:
    with this_machine(), this_machine():
        pass


LEAVES_ONE = """
import subprocess

def test_it() -> None:
    print(subprocess.Popen(["sleep", "100"]).pid)
"""


#: As conftest.py does, with less grace.
PLUGIN = """
import left_behind

left_behind.GRACE_S = 0.5

def pytest_configure(config):
    config.pluginmanager.register(left_behind.LeftBehind())
"""


def test_a_process_that_a_test_leaves_behind_fails_the_run_and_is_killed(tmp_path: Path) -> None:
    (tmp_path / "test_leaves.py").write_text(LEAVES_ONE)
    (tmp_path / "conftest.py").write_text(PLUGIN)
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*pytest_here, f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TESTS), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    pid = int(done.stdout.split()[0])
    assert f"{pid}: sleep 100" in done.stdout
    assert came_true(lambda: not lives(pid))
