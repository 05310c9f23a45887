"""A cycle's console log: everything from power-on on, nothing from before, and whole or not."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from whylate.probe.client import Stream
from whylate.recording.console.crashes import find_crashes
from whylate.recording.console.log import CUT, read_console
from whylate.run.console import copy_console
from whylate.soak.console import TEXT, ConsoleTail, TailedConsole, begins_with_the_boot
from whylate.soak.cycle import CycleRunner
from whylate.soak.kernel_log import KernelLog
from whylate.soak.run_result import RunResult
from whylate.wire.frame import encode_frame

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


LOCKUP = b"[   98.000001] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [spinner:102]\r\n"
PANIC = b"[   99.000001] Kernel panic - not syncing: Fatal exception\r\n"


class FramedConsole(LoggedConsole):
    """A console over which the probe's frames go too."""

    framed = True


def frames(seed: int) -> bytes:
    numbers = random.Random(seed)
    return b"".join(encode_frame(7, n, numbers.randbytes(600)) for n in range(3))


def judged(tail: ConsoleTail, printed: int) -> tuple[str, str]:
    """What becomes of a cycle that had no failure but what this console shows."""
    runner = cast(Any, CycleRunner.__new__(CycleRunner))
    runner._tail, runner._logged, runner._result = tail, KernelLog(), RunResult()
    runner._causes = CycleRunner._find_causes(runner, printed)
    return cast("tuple[str, str]", CycleRunner._judge(runner, None, None))


@pytest.fixture
def framed(tmp_path: Path) -> FramedConsole:
    return FramedConsole(tmp_path / "log")


@pytest.mark.parametrize("seed", range(40))
def test_a_lockup_told_in_a_frames_middle_is_a_crash(framed: FramedConsole, seed: int) -> None:
    sent = frames(seed)
    at = random.Random(seed).randrange(len(sent))
    with tail_of(framed) as tail:
        framed.say(b"boot\r\n\n" + sent[:at] + LOCKUP + sent[at:])
        log = tail.read()
        assert LOCKUP in tail.text()
        (crash,) = find_crashes(tail.text())
        outcome, why = judged(tail, len(log))
        assert outcome == "crashed"
        assert why == crash.headline == LOCKUP.decode().split("] ", 1)[1].strip()
        framed.say(PANIC)
        tail.copy()
        assert PANIC not in tail.text(len(log)), "what it says while it loses its power"
        assert PANIC in tail.text()
    kept = (tail.path.parent / TEXT).read_bytes()
    assert LOCKUP in kept
    assert kept.endswith(PANIC)
    assert sent[:at] in tail.path.read_bytes()


def test_words_of_a_crash_in_a_frames_payload_are_none(framed: FramedConsole) -> None:
    with tail_of(framed) as tail:
        framed.say(b"boot\r\n\n" + encode_frame(7, 1, b"\r\n" + PANIC))
        assert judged(tail, len(tail.read())) == ("ok", "")


@pytest.mark.parametrize("cut_at", [0, 10, 40, len(PANIC)])
def test_a_panic_is_noticed_while_it_is_printed_and_words_in_frames_are_none(
    framed: FramedConsole, monkeypatch: pytest.MonkeyPatch, cut_at: int
) -> None:
    monkeypatch.setattr("whylate.soak.console._PANIC_S", 0.05)
    with tail_of(framed) as tail:
        framed.say(b"boot\r\n\n" + encode_frame(7, 1, b"\r\n" + PANIC))
        tail.copy()
        time.sleep(0.06)
        assert not tail.has_panicked()
        for piece in (PANIC[:cut_at], PANIC[cut_at:]):
            framed.say(piece)
            tail.copy()
        assert not tail.has_panicked(), "it has the time to say why"
        time.sleep(0.06)
        assert tail.has_panicked()
        assert tail.has_panicked()


def test_a_run_of_a_cycle_keeps_no_frames(framed: FramedConsole, tmp_path: Path) -> None:
    with tail_of(framed) as tail, copy_console(TailedConsole(framed, tail), tmp_path):
        framed.say(b"boot\r\n" + frames(1) + PANIC)
    assert read_console(tmp_path) == b"boot\r\n" + PANIC


def test_a_log_without_frames_is_its_own_text(console: LoggedConsole) -> None:
    with tail_of(console) as tail:
        console.say(b"a\0b\0" + PANIC)
        assert tail.text() == b"a\0b\0" + PANIC
        assert tail.text(2) == b"a\0"
    assert not TailedConsole(console, tail).framed
    assert not (tail.path.parent / TEXT).exists()


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
