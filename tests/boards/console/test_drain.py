"""A console is read whether or not anybody listens, and everything it says is kept."""

from __future__ import annotations

import os
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from waiting import came_true
from whylate.boards.console.channel import DescriptorChannel
from whylate.boards.console.drain import DrainedConsole
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.streams.queue import QUEUE_BYTES


@contextmanager
def console_and_board(
    path: Path, log_bytes: int = 1 << 30
) -> Iterator[tuple[DrainedConsole, socket.socket]]:
    ours, board = socket.socketpair()
    console = DrainedConsole(ours.detach(), path, log_bytes)
    board.settimeout(10)
    try:
        yield console, board
    finally:
        console.close()
        board.close()


def test_a_board_that_nobody_listens_to_never_waits(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    output = os.urandom(4 << 20)
    with console_and_board(log) as (console, board):
        board.sendall(output)  # it would time out
        assert came_true(lambda: log.stat().st_size >= len(output))
        assert console.log == log
    assert log.read_bytes() == output


def test_a_user_who_does_not_read_stops_nothing_and_learns_what_was_dropped(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    output = os.urandom(3 << 20)
    with console_and_board(log) as (console, board):
        user = console.connect()
        board.sendall(output)
        assert came_true(lambda: log.stat().st_size >= len(output))
        heard = b""
        while select.select([user.fileno()], [], [], 0.5)[0]:
            heard += user.read(1 << 16)
        assert 0 < len(heard) <= QUEUE_BYTES
        assert heard == output[: len(heard)]
        assert user.dropped == len(output) - len(heard)
        user.close()
    assert log.read_bytes() == output


def test_both_directions_belong_to_one_user_at_a_time(tmp_path: Path) -> None:
    with console_and_board(tmp_path / "log") as (console, board):
        user = console.connect()
        with pytest.raises(BoardBusyError):
            console.connect()
        board.sendall(b"login: ")
        assert select.select([user.fileno()], [], [], 10)[0]
        assert user.read(100) == b"login: "
        user.write(b"root\n")
        assert board.recv(100) == b"root\n"
        user.close()
        user.close()
        console.connect().close()


def test_a_line_that_is_hung_up_ends_its_user_and_may_come_back(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with console_and_board(log) as (console, board):
        user = console.connect()
        board.sendall(b"power down")
        board.close()
        assert came_true(lambda: not console.attached)
        assert user.read(100) == b"power down"
        assert user.read(100) == b"", "the end"
        with pytest.raises(OSError, match="gone"):
            user.write(b"x")
        user.close()
        with pytest.raises(BoardError, match="switched on"):
            console.connect()
        ours, again = socket.socketpair()
        console.attach(ours.detach())
        with again:
            user = console.connect()
            again.sendall(b", up again")
            assert select.select([user.fileno()], [], [], 10)[0]
            assert user.read(100) == b", up again"
            user.close()
    assert log.read_bytes() == b"power down, up again"


def test_a_pty_whose_other_side_is_closed_has_hung_up(tmp_path: Path) -> None:
    master, slave = os.openpty()
    console = DrainedConsole(master, tmp_path / "log")
    assert console.attached
    os.close(slave)
    assert came_true(lambda: not console.attached)
    console.close()


def test_a_line_that_takes_nothing_is_an_error_and_not_a_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whylate.boards.console.channel.STUCK_S", 0.2)
    with console_and_board(tmp_path / "log") as (console, _):
        user = console.connect()
        with pytest.raises(OSError, match="accepts nothing"):
            user.write(bytes(16 << 20))
        user.close()


def test_a_log_has_an_end_and_says_so_while_the_board_is_read_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with console_and_board(log, 1000) as (console, board):
        board.sendall(bytes(2 << 20))
        assert came_true(lambda: console.log_error)
        assert log.stat().st_size < 1100
        assert b"the log is full" in log.read_bytes()
        assert "full" in str(console.log_error)
        board.sendall(bytes(2 << 20))


def test_a_log_that_cannot_be_opened_is_an_error_of_one_line(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="No such file"):
        DrainedConsole(None, tmp_path / "none" / "log")


def test_a_secret_is_hidden_however_it_is_cut(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with console_and_board(log) as (console, board):
        user = console.connect()
        user.hide(b"hunter2")
        for byte in b"Password: hunter2\r\nhunhunter2t":
            board.sendall(bytes([byte]))
            time.sleep(0.001)
        heard = b""
        while select.select([user.fileno()], [], [], 0.3)[0]:
            heard += user.read(100)
        user.hide(b"")
        board.sendall(b" hunter2 is a word now")
        assert came_true(lambda: b"word now" in log.read_bytes())
        user.close()
    assert heard == b"Password: <hidden>\r\nhun<hidden>t"
    assert log.read_bytes() == heard + b" hunter2 is a word now"


def test_a_secret_that_is_cut_short_by_the_end_is_hidden_too(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with console_and_board(log) as (console, board):
        user = console.connect()
        user.hide(b"hunter2")
        board.sendall(b"echo hunter")
        board.close()
        assert came_true(lambda: not console.attached)
        user.close()
    assert log.read_bytes() == b"echo <hidden>"


def test_a_descriptor_channel_reads_with_a_timeout() -> None:
    ours, theirs = socket.socketpair()
    channel = DescriptorChannel(ours)
    with theirs:
        assert channel.read(0.01) == b""
        theirs.sendall(b"x")
        assert channel.read(10) == b"x"
    with pytest.raises(EOFError):
        channel.read(10)
    channel.close()
    channel.close()
