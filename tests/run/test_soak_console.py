"""A cycle's console log: everything from power-on on, nothing from before, and whole or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from whylate.probe.client import Stream
from whylate.recording.console import CUT
from whylate.run.soak_console import ConsoleTail, begins_with_the_boot

BOOTLOGS = Path(__file__).parents[1] / "boards" / "data" / "bootlogs"


class LoggedConsole:
    """A console of which there is only the log, as a board's power supply sees it."""

    def __init__(self, log: Path) -> None:
        self.log = log

    def connect(self) -> Stream:
        raise NotImplementedError

    def say(self, text: bytes) -> None:
        with self.log.open("ab") as file:
            file.write(text)


@pytest.fixture
def console(tmp_path: Path) -> LoggedConsole:
    return LoggedConsole(tmp_path / "log")


@contextmanager
def tail_of(console: LoggedConsole, limit: int = 1 << 20) -> Iterator[ConsoleTail]:
    tail = ConsoleTail(console, console.log.parent / "copy", limit)
    try:
        yield tail
    finally:
        tail.close()


def test_what_was_printed_before_is_left_out(console: LoggedConsole) -> None:
    console.say(b"the cycle before\n")
    with tail_of(console) as tail:
        console.say(b"this one\n")
        assert tail.read() == b"this one\n"
        console.say(b"more")
        assert tail.read() == b"this one\nmore"
        assert tail.bytes == 13


def test_a_log_that_begins_anew_is_taken_from_its_beginning(console: LoggedConsole) -> None:
    console.say(b"short")
    with tail_of(console) as tail:
        console.log.unlink()
        # Longer than the old one, and perhaps in the very same place of the disk.
        console.say(b"a boot that says more than the one before it\n")
        assert tail.read() == b"a boot that says more than the one before it\n"


def test_the_end_of_a_log_that_was_replaced_is_kept(console: LoggedConsole) -> None:
    with tail_of(console) as tail:
        console.say(b"one ")
        tail.copy()
        console.say(b"two ")
        console.log.rename(console.log.with_name("old"))
        console.say(b"three")
        assert tail.read() == b"one two three"


def test_a_log_that_was_emptied_is_taken_from_its_beginning(console: LoggedConsole) -> None:
    console.say(b"a long story of another day\n")
    with tail_of(console) as tail:
        console.log.write_bytes(b"new\n")
        assert tail.read() == b"new\n"


def test_a_console_without_a_log_yet_is_waited_for(console: LoggedConsole) -> None:
    with tail_of(console) as tail:
        assert tail.read() == b""
        console.say(b"hello\n")
        assert tail.read() == b"hello\n"


def test_a_console_that_babbles_is_cut_and_counted(console: LoggedConsole) -> None:
    with tail_of(console, limit=10) as tail:
        console.say(b"123456789")
        tail.copy()
        assert not tail.cut
        console.say(b"abc" * 1000)
        console.say(b"xyz")
        assert tail.read() == b"123456789a" + CUT
        assert tail.cut
        assert tail.bytes == 3012


@pytest.mark.parametrize("board", ["virt-arm64", "pc", "raspi3b", "sabrelite"])
def test_captured_boots_begin_with_the_boot_and_their_middles_do_not(board: str) -> None:
    log = (BOOTLOGS / f"{board}.txt").read_bytes()
    assert begins_with_the_boot(log) is True
    lines = log.splitlines(keepends=True)
    later = next(n for n, line in enumerate(lines) if b"]" in line and b"0.000000]" not in line)
    assert begins_with_the_boot(b"".join(lines[later:])) is False


def test_a_boot_loaders_words_come_before_the_kernels() -> None:
    assert begins_with_the_boot(b"\xff\x00U-Boot SPL 2024.01\r\nDRAM: 1 GiB\r\n") is True


def test_nothing_at_all_is_no_boot() -> None:
    assert begins_with_the_boot(b"\r\n \n") is False


def test_a_silent_boot_cannot_be_told() -> None:
    assert begins_with_the_boot(b"board7 login: ") is None
