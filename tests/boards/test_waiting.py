"""A board that another process has is waited for, and who has it is said once."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from whylate.boards import waiting as waiting_module
from whylate.boards.board import Notify, notify_nobody
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.state import BoardLock
from whylate.boards.waiting import Waiting

HOLDER = """
import sys
from pathlib import Path
from whylate.boards.state import BoardLock
with BoardLock(Path(sys.argv[1]), "board7"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting_module, "ATTEMPT_S", 0.1)


@contextmanager
def holder(directory: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the board until its input ends."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(directory)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()


def acquire(directory: Path, waiting: Waiting, notify: Notify = notify_nobody) -> None:
    lock = BoardLock(directory, "board7")
    waiting.acquire("board7", lambda _: lock.acquire(), notify)
    lock.release()


def test_a_board_is_ours_when_its_holder_has_left_it(tmp_path: Path) -> None:
    shown: list[str] = []
    with holder(tmp_path) as process:
        assert process.stdin is not None
        leave = threading.Timer(1.0, process.stdin.close)
        leave.start()
        acquire(tmp_path, Waiting(60.0), shown.append)
        leave.join()
    waits, ours = shown
    assert waits.startswith(
        f"waiting at most 60.0 s for board7: the board board7 is taken: process {process.pid} of "
    )
    assert ours.startswith("board7 is ours after ")


def test_a_board_that_is_not_left_in_time_is_refused_with_who_has_it(tmp_path: Path) -> None:
    with (
        holder(tmp_path) as process,
        pytest.raises(BoardBusyError, match=rf"process {process.pid} .*; 0\.\d s of waiting were"),
    ):
        acquire(tmp_path, Waiting(0.5))


def test_nobody_waits_who_was_not_asked_to(tmp_path: Path) -> None:
    shown: list[str] = []
    with holder(tmp_path), pytest.raises(BoardBusyError, match=r"process \d+ of user .* has it$"):
        acquire(tmp_path, Waiting(), shown.append)
    assert shown == []


def test_waiting_ends_when_the_user_ends_the_run(tmp_path: Path) -> None:
    began = time.monotonic()
    with holder(tmp_path), pytest.raises(BoardBusyError):
        acquire(tmp_path, Waiting(600.0, lambda: time.monotonic() - began > 0.5))
    assert time.monotonic() - began < 60.0


def test_only_a_board_that_is_taken_is_waited_for() -> None:
    attempts: list[None] = []

    def absent(notify: Notify) -> None:
        del notify
        attempts.append(None)
        raise BoardError("there is no such place")

    with pytest.raises(BoardError, match="no such place"):
        Waiting(60.0).acquire("board7", absent, notify_nobody)
    assert len(attempts) == 1
