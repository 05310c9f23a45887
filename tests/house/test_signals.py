"""Tests send signals to programs, also where the suite itself was started with them ignored."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import signal
print(signal.getsignal(signal.SIGINT) is not signal.SIG_IGN, end=" ")
print(signal.getsignal(signal.SIGHUP) is signal.SIG_DFL)
"""
TEST = f"""
import subprocess, sys
def test_child():
    done = subprocess.run([sys.executable, "-c", {PROGRAM!r}], capture_output=True, text=True)
    assert done.stdout == "True True\\n"
"""


def test_a_suite_in_the_background_starts_programs_that_heed_signals(tmp_path: Path) -> None:
    tests = Path(__file__).parents[1]
    conftest = tests / "conftest.py"
    (tmp_path / "conftest.py").write_text(conftest.read_text())
    (tmp_path / "test_child.py").write_text(TEST)
    ignoring = "trap '' INT HUP QUIT; exec \"$@\""
    pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(
        ["sh", "-c", ignoring, "sh", *pytest],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tests), "PYTEST_ADDOPTS": ""},
        check=False,
    )
    assert done.returncode == 0, done.stdout
