"""U-Boot's prompt, typed at: what it prints decides, and nothing that it prints is trusted."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import cast

import pytest

from whylate.boards.boot import u_boot_prompt
from whylate.boards.boot.u_boot_prompt import boot_by
from whylate.boards.console.drain import ConsoleStream
from whylate.boards.errors import BoardError

COUNTDOWN = b"U-Boot 2023.01\r\n\r\nHit any key to stop autoboot:  2 "
KERNEL = b"Starting kernel ...\r\n\r\n"
PROMPT = b"=> "


class Loader:
    """A boot loader at the far end of a line, and the stream at its near end.

    answer: what a command prints. drops: how many of the letters y a slow UART loses.
    """

    def __init__(
        self, answer: Callable[[bytes], bytes], banner: bytes = COUNTDOWN, drops: int = 0
    ) -> None:
        self._near, self._far = socket.socketpair()
        self._answer, self._drops = answer, drops
        self.commands: list[bytes] = []
        self._line, self._stopped = b"", False
        self._far.sendall(banner)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while data := self._far.recv(1000):
            for number in data:
                self._type(bytes([number]))

    def _type(self, key: bytes) -> None:
        if not self._stopped:
            self._stopped = True
            self._far.sendall(b"\r\n" + PROMPT)
        elif key == b"\x03":
            self._line = b""
            self._far.sendall(b"<INTERRUPT>\r\n" + PROMPT)
        elif key == b"\r":
            self.commands.append(self._line.strip())
            self._far.sendall(b"\r\n" + self._answer(self._line.strip()))
            self._line = b""
        elif key == b"y" and self._drops:
            self._drops -= 1
        else:
            self._line += key
            self._far.sendall(key)

    def boot(self, *commands: str) -> None:
        """Have it boot by commands, as a board's console would."""
        boot_by(cast(ConsoleStream, self), commands, "=>", " ")

    # -- the stream

    def fileno(self) -> int:
        return self._near.fileno()

    def read(self, size: int) -> bytes:
        return self._near.recv(size)

    def write(self, data: bytes) -> None:
        self._near.sendall(data)


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(u_boot_prompt, "PROMPT_S", 2.0)
    monkeypatch.setattr(u_boot_prompt, "COMMAND_S", 2.0)
    monkeypatch.setattr(u_boot_prompt, "_ECHO_S", 0.5)


def test_commands_are_typed_in_turn_until_the_kernel_starts() -> None:
    loader = Loader(lambda line: KERNEL if line.startswith(b"booti") else b"ok\r\n" + PROMPT)
    loader.boot("setenv bootargs quiet", "booti 1 - 2")
    assert loader.commands == [b"setenv bootargs quiet", b"booti 1 - 2"]


def test_a_command_that_lost_a_character_is_typed_again() -> None:
    loader = Loader(lambda _: KERNEL, drops=1)
    loader.boot("sysboot mmc 0:1 any 1 /conf")
    assert loader.commands == [b"sysboot mmc 0:1 any 1 /conf"]


def test_a_line_that_never_echoes_sends_nothing() -> None:
    loader = Loader(lambda _: KERNEL, drops=1000)
    with pytest.raises(BoardError, match="does not echo 'sysboot"):
        loader.boot("sysboot mmc 0:1 any 1 /conf")
    assert loader.commands == []


def test_the_reason_that_u_boot_prints_is_in_the_error_and_harmless() -> None:
    loader = Loader(lambda _: b"\x1b[2J** Invalid partition 9 **\r\n" + PROMPT)
    with pytest.raises(BoardError, match="Invalid partition 9") as caught:
        loader.boot("sysboot mmc 0:9 any 1 /conf")
    assert str(caught.value).isprintable()


def test_a_countdown_that_the_key_does_not_stop_is_seen() -> None:
    loader = Loader(lambda _: b"", banner=COUNTDOWN + KERNEL)
    with pytest.raises(BoardError, match="declare the keys that stop it as `stop`"):
        loader.boot("booti")


def test_a_board_that_prints_nothing_is_given_up() -> None:
    loader = Loader(lambda _: b"", banner=b"")
    with pytest.raises(BoardError, match="came to no prompt '=>'; it is silent"):
        loader.boot("booti")


def test_a_command_that_does_not_end_is_given_up() -> None:
    loader = Loader(lambda _: b"loading ###")
    with pytest.raises(BoardError, match="tftpboot took longer than 2 s"):
        loader.boot("tftpboot")
