"""A start by the server is a start: the same output, status, directory and environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import start_client
import starts

WHYLATE = [sys.executable, "-m", "whylate"]


@pytest.mark.parametrize(
    "words",
    [
        ["--version"],
        ["measure", "--nonsense"],
        ["compare", "none", "neither"],
        ["board", "run", "local", "--", "sh", "-c", "pwd; echo $ONE; echo error >&2; exit 7"],
        ["board", "run", "local", "--", "cat"],
    ],
)
def test_a_start_by_the_server_is_a_start(words: list[str], tmp_path: Path) -> None:
    def outcome(run: object) -> tuple[int, bytes, bytes]:
        assert callable(run)
        done = run(
            [*WHYLATE, *words], cwd=tmp_path, env={**os.environ, "ONE": "two"},
            input=b"given\n", capture_output=True, check=False, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    assert outcome(starts.run) == outcome(subprocess.run)
    # What the first has imported, the second finds.
    assert outcome(starts.run) == outcome(starts.run)


def test_a_start_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    # What it has started ends by itself.
    words = ["board", "run", "local", "--", "sh", "-c", f"sleep 5; touch {tmp_path}/end"]
    with pytest.raises(subprocess.TimeoutExpired):
        starts.run([*WHYLATE, *words], timeout=1, capture_output=True)
    assert not (tmp_path / "end").exists()
    # The server goes on.
    assert starts.run([*WHYLATE, "--version"], check=True, capture_output=True).stdout


def test_a_start_that_fails_raises_where_that_is_asked() -> None:
    with pytest.raises(subprocess.CalledProcessError) as caught:
        starts.run([*WHYLATE, "nonsense"], check=True, capture_output=True, text=True)
    assert caught.value.returncode == 2
    assert "No such command" in caught.value.stderr


def test_another_program_is_started_as_ever() -> None:
    done = starts.run(["sh", "-c", "echo $0"], capture_output=True, text=True, check=True)
    assert done.stdout == "sh\n"


def test_a_shell_s_start_ends_as_it_does_and_signals_reach_it(tmp_path: Path) -> None:
    client = f"{sys.executable} -IS {start_client.__file__} {starts.server()}"
    script = f"""
        {client} nonsense; echo $?
        {client} board run local -- sh -c 'touch begun; sleep 60' & whylate=$!
        while [ ! -e begun ]; do sleep 0.05; done
        kill -TERM $whylate; wait $whylate; echo $?
        {client} board run local -- sh -c 'touch again; exec sleep 5' & whylate=$!
        while [ ! -e again ]; do sleep 0.05; done
        kill -KILL $whylate; wait $whylate; echo $?
    """
    done = subprocess.run(
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stdout.split() == ["2", "143", "137"]
    assert "No such command" in done.stderr
