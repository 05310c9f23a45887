"""Verbs that make many runs wait for a board that another process has, and say who that is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import starts
from whylate.boards.state import BoardLock, state_directory

BOARD = "pc"
PLAN = f"""\
boards = ["{BOARD}"]
for = "1s"
[variants.a]
[variants.b]
thp = "never"
"sysctl:vm.swappiness" = 10
"""
RECORDING = Path(__file__).parent.parent / "predict" / "data" / "pc-irqs-off"
GIT = {
    "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c",
    "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c",
}  # fmt: skip


@pytest.fixture
def taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The board is this process's."""
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    with BoardLock(state_directory(BOARD), BOARD):
        yield


def settings(folder: Path) -> list[str]:
    (folder / "plan.toml").write_text(PLAN)
    return ["bisect", "settings", "plan.toml", "--runs", "60"]


def commits(folder: Path) -> list[str]:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-C", folder / "tree", *words], check=True, env={**os.environ, **GIT}
        )

    (folder / "tree").mkdir()
    git("init", "-q")
    for number in range(3):
        (folder / "tree" / "file").write_text(str(number))
        git("add", "file")
        git("commit", "-q", "-m", str(number))
    (folder / "plan.toml").write_text(
        f'boards = ["{BOARD}"]\n[cmd]\ncommand = "true"\nrounds = 1\n'
        '[commits]\nbuild = "true"\nput = ["file:/tmp/file"]\n'
    )
    return [
        "bisect",
        "commits",
        "HEAD~2",
        "HEAD",
        "plan.toml",
        "--repository",
        "tree",
        "--statistic",
        "wall time",
    ]


def soak(folder: Path) -> list[str]:
    del folder
    return ["board", "soak", BOARD, "--cycles", "1", "--run-for", "1s"]


def experiment(folder: Path) -> list[str]:
    shutil.copytree(RECORDING, folder / "before")
    return ["explain", "before", "--experiment", "thp=never", "--rounds", "4", "--for", "1s"]


@pytest.mark.usefixtures("taken")
@pytest.mark.parametrize("made", [settings, commits, experiment, soak])
def test_a_board_that_somebody_has_is_waited_for(
    made: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "whylate", *made(tmp_path), "--wait", "1s", "-o", "out"]
    done = starts.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    shown = " ".join(done.stderr.split())
    assert f"waiting at most 1.0 s for {BOARD}: the board {BOARD} is taken" in shown
    assert "of waiting were not enough" in shown


@pytest.mark.usefixtures("taken")
def test_what_no_board_can_do_is_refused_before_one_is_waited_for(tmp_path: Path) -> None:
    words = ["measure", BOARD, "--pid", "1", "--virtual-time", "--wait", "1h", "-o", "out"]
    done = starts.run(
        [sys.executable, "-m", "whylate", *words],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert "in virtual time the board boots first" in " ".join(done.stderr.split())
    assert "waiting" not in done.stderr
