"""Commands on this machine: bounded as they are on any other board."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from processes import lives
from whylate.boards import local
from whylate.boards.errors import BoardError
from whylate.boards.local import LocalBoard


def test_a_command_has_its_input_its_outputs_and_its_status() -> None:
    done = LocalBoard().run(["sh", "-c", "cat; echo err >&2; exit 7"], data=b"in")
    assert (done.status, done.output, done.error) == (7, b"in", b"err\n")
    assert LocalBoard().run(["sh", "-c", "kill -9 $$"]).status == 137


def test_a_program_that_is_not_there_is_said() -> None:
    with pytest.raises(BoardError, match="/no/such cannot be run: No such file"):
        LocalBoard().run(["/no/such"])


@pytest.mark.parametrize("target", ["1", "2"])
def test_output_without_end_is_ended(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "MAX_OUTPUT", 1 << 20)
    with pytest.raises(BoardError, match="sh printed more than 1 MiB"):
        LocalBoard().run(["sh", "-c", f"exec yes >&{target}"], timeout_s=30)


def test_what_a_command_leaves_running_does_not_keep_its_output_back() -> None:
    began = time.monotonic()
    done = LocalBoard().run(["sh", "-c", "sleep 100 & echo $!"], timeout_s=30)
    os.kill(int(done.output), signal.SIGKILL)
    assert done.status == 0
    assert time.monotonic() - began < 20


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"sleep 100 & echo $! >{note}; wait"
    with pytest.raises(BoardError, match=r"sh took longer than 1 s"):
        LocalBoard().run(["sh", "-c", script], timeout_s=1.0)
    pid = int(note.read_text())
    deadline = time.monotonic() + 5
    while lives(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not lives(pid)
