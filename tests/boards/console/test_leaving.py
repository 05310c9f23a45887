"""A console that is left half-way, or by another thread, is given back all the same."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from console_line import BUSYBOX, SHELLS, Line, leftovers, shell_on_a_line
from test_login import PASSWORD, VARIABLE, getty

from whylate.boards.console import shell as console_shell
from whylate.boards.console.drain import DrainedConsole
from whylate.boards.console.listen import Listener
from whylate.boards.console.prompt import Login
from whylate.boards.console.shell import ConsoleShell
from whylate.boards.console.transfer import Transfer
from whylate.boards.console.worker import Worker
from whylate.boards.errors import BoardError
from whylate.boards.qemu import board as qemu_board
from whylate.boards.qemu.board import QemuBoard
from whylate.lab.description import virtual_board

needs_a_chroot = pytest.mark.skipif(
    os.geteuid() != 0 or BUSYBOX is None, reason="needs root and a static busybox for a chroot"
)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylate.boards.console.prompt.NOTHING_SILENCE_S", 0.3)
    monkeypatch.setattr("whylate.boards.console.prompt.UNKNOWN_SILENCE_S", 0.4)


@pytest.fixture
def line(tmp_path: Path) -> Iterator[Line]:
    with shell_on_a_line(SHELLS["dash"], tmp_path / "console.log") as line:
        yield line


def state_of(line: Line) -> list[str]:
    """Return the terminal's settings as a program sees them that the board's shell starts."""
    stream = line.console.connect()
    stream.write(b"stty -a >&2; printf '%s%s' he re\n")
    deadline = time.monotonic() + 10
    while b"here" not in (log := line.console.log.read_bytes()):
        assert time.monotonic() < deadline, log
        time.sleep(0.01)
    stream.close()
    return log[log.rindex(b"speed") :].decode().split()


def assert_given_back(line: Line) -> None:
    state = state_of(line)
    assert {"echo", "isig", "ixon"} <= set(state), state
    assert re.search(r"eof = \^D", " ".join(state)), state


class Interrupted:
    """Does what a method does, and then Ctrl-C comes."""

    def __init__(self, method: object, after: int = 1) -> None:
        self._method = method
        self._left = after

    def __call__(self, *args: object, **kwargs: object) -> object:
        done = self._method(*args, **kwargs)  # type: ignore[operator]
        self._left -= 1
        if self._left == 0:
            raise KeyboardInterrupt
        return done


def interrupt(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    hit = Interrupted(getattr(Worker, name))

    def method(self: Worker, *args: object, **kwargs: object) -> object:
        return hit(self, *args, **kwargs)

    monkeypatch.setattr(Worker, name, method)


def test_a_board_that_turns_out_to_be_unfit_gets_its_console_back(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(worker: Worker) -> Transfer:
        raise BoardError(f"{len(worker.tools)} tools are too few")

    monkeypatch.setattr(console_shell, "Transfer", refuse)
    shell = ConsoleShell(line.console.connect())
    with pytest.raises(BoardError, match="too few"):
        shell.open(30)
    shell.close()
    assert_given_back(line)
    assert leftovers(line) == []


@pytest.mark.parametrize("step", ["_see", "ask", "request"])
def test_whoever_is_interrupted_while_the_worker_starts_leaves_no_worker_behind(
    line: Line, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    interrupt(monkeypatch, step)
    shell = ConsoleShell(line.console.connect())
    with pytest.raises(KeyboardInterrupt):
        shell.open(30)
    shell.close()
    assert_given_back(line)
    assert leftovers(line) == []


def test_half_a_request_does_not_keep_the_worker_from_leaving(line: Line) -> None:
    shell = ConsoleShell(line.console.connect())
    shell.open(30)
    line.channel.write(b"40:abcdef:echo ")
    began = time.monotonic()
    shell.close()
    assert time.monotonic() - began < 4.0
    assert_given_back(line)
    assert leftovers(line) == []


@needs_a_chroot
def test_we_log_out_where_we_logged_in_and_then_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(worker: Worker) -> Transfer:
        raise BoardError(f"{len(worker.tools)} tools are too few")

    monkeypatch.setenv(VARIABLE, PASSWORD)
    monkeypatch.setattr(console_shell, "Transfer", refuse)
    with getty(tmp_path, PASSWORD) as line:
        shell = ConsoleShell(line.console.connect(), Login("root", VARIABLE))
        with pytest.raises(BoardError, match="too few"):
            shell.open(30)
        shell.close()
        assert line.console.log.read_bytes().rstrip().endswith(b"login:"), "we logged out"


@needs_a_chroot
def test_we_log_out_where_we_were_interrupted_before_the_prompt_was_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, PASSWORD)
    with getty(tmp_path, PASSWORD) as line:
        stream = line.console.connect()
        shell = ConsoleShell(stream, Login("root", VARIABLE))

        def revealed(secret: bytes) -> None:
            if not secret:
                # Ctrl-C while the password is awaited to be taken.
                raise KeyboardInterrupt

        monkeypatch.setattr(stream, "hide", revealed)
        with pytest.raises(KeyboardInterrupt):
            shell.open(30)
        monkeypatch.undo()
        shell.close()
        assert line.console.log.read_bytes().rstrip().endswith(b"login:"), "we logged out"


@needs_a_chroot
def test_nothing_is_typed_into_a_question_for_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "not-it-at-all")
    with getty(tmp_path, PASSWORD) as line:
        shell = ConsoleShell(line.console.connect(), Login("root", VARIABLE))
        with pytest.raises(BoardError, match="refuses root's password"):
            shell.open(30)
        shell.close()
        time.sleep(0.5)
        assert b"exit" not in line.console.log.read_bytes()


@pytest.mark.parametrize("before_s", [0.0, 0.3], ids=["before", "while"])
def test_a_stream_that_another_thread_closes_is_a_line_that_is_gone(
    line: Line, before_s: float
) -> None:
    stream = line.console.connect()
    listener = Listener(stream)
    listener.wait_until_silent(0.3, time.monotonic() + 5)
    closer = threading.Timer(before_s, stream.close)
    closer.start()
    if not before_s:
        closer.join()
    with pytest.raises(BoardError, match="line is gone"):
        listener.wait(5.0)
    closer.join()


@pytest.mark.parametrize(
    ("came", "words"),
    [
        (b"board7 login: root\r\n<0123456789|started|0123456789>\r\n", "board7 login: root"),
        (b"# true\r\n<0123456789|star", "# true"),
        (b"error: <0000000000|1>\r\n", "error:"),
        (b"<b>bold</b>\r\n", "<b>bold</b>"),
    ],
)
def test_the_last_words_of_a_line_that_is_gone_are_the_boards(
    tmp_path: Path, came: bytes, words: str
) -> None:
    near, far = socket.socketpair()
    console = DrainedConsole(near.detach(), tmp_path / "log")
    listener = Listener(console.connect())
    far.sendall(came)
    far.close()
    with pytest.raises(BoardError, match=f"; its last line is '{re.escape(words)}"):
        listener.wait_until_silent(5.0, time.monotonic() + 60)
    console.close()


def test_a_stream_that_was_hung_up_on_does_not_speak_over_the_line_that_came_after(
    tmp_path: Path,
) -> None:
    old, far_old = socket.socketpair()
    new, far_new = socket.socketpair()
    console = DrainedConsole(old.detach(), tmp_path / "log")
    stream = console.connect()
    console.attach(new.detach())
    with pytest.raises(BrokenPipeError):
        stream.write(b"to the board that was")
    console.connect().write(b"mine")
    assert far_new.recv(100) == b"mine"
    console.close()
    far_old.close()
    far_new.close()


def test_a_virtual_boards_shell_that_did_not_open_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path))
    monkeypatch.setattr(qemu_board, "SHELL_S", 0.5)
    board = QemuBoard(virtual_board("virt-arm64"))
    pairs = [socket.socketpair() for _ in range(2)]
    silent = iter(pairs)
    monkeypatch.setattr(board.console, "connect", lambda: next(silent)[0])
    for _ in pairs:
        # The second time as well: it begins anew.
        with pytest.raises(BoardError, match="no shell in time"):
            board.run(["true"])
    for ours, theirs in pairs:
        assert ours.fileno() == -1, "the line is left"
        theirs.close()
