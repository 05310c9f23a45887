"""Commands that are children of ours: bounded in time and in what they print."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from whylate.boards.process import ProcessStream, TooLongError, TooMuchError, run_to_end

DESCRIPTORS = Path("/proc/self/fd")


def test_it_returns_status_output_and_error() -> None:
    ended = run_to_end(["sh", "-c", "cat; echo err >&2; exit 3"], b"in", 10, 100)
    assert (ended.status, ended.output, ended.error) == (3, b"in", b"err\n")


def test_a_child_that_leaves_another_behind_holds_nobody_up() -> None:
    began = time.monotonic()
    ended = run_to_end(["sh", "-c", "sleep 100 & echo $!"], b"", 30, 100)
    os.kill(int(ended.output), signal.SIGKILL)
    assert time.monotonic() - began < 20


def test_too_long_ends_it_and_all_that_it_started() -> None:
    script = "trap '' TERM; sleep 100 & echo $! $$ >&2; wait; sleep 100"
    with pytest.raises(TooLongError) as late:
        run_to_end(["sh", "-c", script], b"", 0.5, 100)
    deadline = time.monotonic() + 5
    for word in late.value.error.split():
        while _lives(int(word)) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not _lives(int(word))


def test_too_much_on_both_streams_together() -> None:
    for count in (50, 51):
        script = f"import os; os.write(1, bytes({count})); os.write(2, bytes(50))"
        if count == 50:
            assert run_to_end([sys.executable, "-c", script], b"", 10, 100).status == 0
        else:
            with pytest.raises(TooMuchError):
                run_to_end([sys.executable, "-c", script], b"", 10, 100)


def test_a_program_that_is_not_there_leaves_no_descriptor_open() -> None:
    before = len(list(DESCRIPTORS.iterdir()))
    for _ in range(3):
        with pytest.raises(FileNotFoundError):
            ProcessStream(["/no/such/program"], keep_error=True)
    assert len(list(DESCRIPTORS.iterdir())) == before


def _lives(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"
