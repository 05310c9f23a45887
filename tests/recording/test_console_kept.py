"""The console's log as a part of a recording."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import msgspec
import pytest

from whylate.boards.board import Board
from whylate.recording.console import log as console_file
from whylate.recording.console.log import (
    ACCOUNT,
    CUT,
    END,
    FAILED,
    NAME,
    ConsoleWriter,
    read_account,
    read_console,
)
from whylate.recording.errors import DiskError
from whylate.recording.finish import finish
from whylate.recording.manifest import SCHEMA_VERSION, Manifest
from whylate.recording.plan import RunPlan
from whylate.recording.store.journal import NAME as JOURNAL
from whylate.recording.store.journal import OPENING, Opening
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.console import copy_console
from whylate.wire.frame import encode_frame

NOISE = b"eth0: babble\n" * 100
PANIC = b"[   99.000001] Kernel panic - not syncing: Fatal exception\r\n"
LOCKUP = b"[   98.000001] watchdog: BUG: soft lockup - CPU#1 stuck for 22s! [spinner:102]\r\n"


def test_what_is_appended_is_copied_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ConsoleWriter(tmp_path) as writer:
        assert not writer.copy(log)
        log.write_bytes(b"boot\n")
        assert writer.copy(log)
        assert not writer.copy(log)
        log.write_bytes(b"boot\nmore\n")
        writer.copy(log)
    assert read_console(tmp_path) == b"boot\nmore\n"
    assert read_account(tmp_path) is None


def test_a_board_that_was_switched_off_and_on_again_is_kept_twice(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with ConsoleWriter(tmp_path) as writer:
        log.write_bytes(b"a first boot\n")
        writer.copy(log)
        log.write_bytes(b"again\n")
        assert writer.copy(log)
    assert read_console(tmp_path) == b"a first boot\nagain\n"


def test_a_console_that_babbles_is_cut_and_the_cut_is_marked(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"x" * 1000)
    with ConsoleWriter(tmp_path, limit=300) as writer:
        writer.copy(log)
        log.write_bytes(b"x" * 2000)
        writer.copy(log)
    assert read_console(tmp_path) == b"x" * 300 + CUT
    assert (tmp_path / END).read_bytes() == b"x" * 1700


def test_what_just_fits_is_not_cut(tmp_path: Path) -> None:
    with ConsoleWriter(tmp_path, limit=300) as writer:
        writer.add(b"x" * 300)
    assert read_console(tmp_path) == b"x" * 300
    assert read_account(tmp_path) is None


def test_what_is_no_text_of_the_board_s_is_sifted_out(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"a1b2")
    with ConsoleWriter(tmp_path, lambda data: data.translate(None, b"0123456789")) as writer:
        writer.copy(log)
    assert read_console(tmp_path) == b"ab"


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (tmp_path / NAME).symlink_to(secret)
    assert read_console(tmp_path) is None
    (tmp_path / ACCOUNT).symlink_to(secret)
    assert read_account(tmp_path) is None


# -- what is not kept


def finished(directory: Path) -> Manifest:
    """The manifest of a recording that has this console."""
    plan = RunPlan(workload=Wakeup(duration_ns=10**9, interval_ns=10**6), cpus=[0])
    opening = Opening(
        SCHEMA_VERSION, "2025-01-02T03:04:05Z", "0.1.0", "board7", "CLOCK_MONOTONIC", plan, [],
        "0.1.0", "x86_64", "0" * 64, 1, 25, [],
    )  # fmt: skip
    (directory / JOURNAL).write_bytes(encode_frame(OPENING, 0, msgspec.json.encode(opening)))
    return finish(directory)


def told(manifest: Manifest) -> list[tuple[str, bool]]:
    return [(one.text, one.fatal) for one in manifest.problems if one.code in {"console", "crash"}]


@pytest.mark.parametrize("size", [100, 777, 1 << 20])
def test_a_crash_after_the_cut_is_seen_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(console_file, "END_BYTES", 3000)
    text = NOISE * 2 + LOCKUP + NOISE * 20
    with ConsoleWriter(tmp_path, limit=2000) as writer:
        for at in range(0, len(text), size):
            writer.add(text[at : at + size])
    assert read_console(tmp_path) == text[:2000] + CUT
    end = (tmp_path / END).read_bytes()
    assert text.endswith(end)
    assert 3000 <= len(end) <= 6000
    manifest = finished(tmp_path)
    (crash,) = manifest.crashes
    assert (crash.kind, crash.fatal) == ("soft lockup", True)
    lines = (text[:2000] + CUT).split(b"\n")
    assert lines[crash.line - 1] == CUT.strip()
    crashed, cut = told(manifest)
    assert crashed == (f"the board crashed: soft lockup: {crash.headline}", True)
    why = (
        f"console.log is not whole from its line {crash.line} on: the console printed more than "
        "2000 bytes; what came after that was searched for crashes, but only its end is kept "
        "(console-end.log)"
    )
    assert cut == (why, False)


@pytest.mark.parametrize("before", [*range(0, len(LOCKUP) - 2, 7), *range(len(LOCKUP) - 3, 90)])
def test_a_crash_on_the_line_of_the_cut_is_told_once_or_whole(tmp_path: Path, before: int) -> None:
    text = NOISE + LOCKUP + NOISE
    with ConsoleWriter(tmp_path, limit=len(NOISE) + before) as writer:
        writer.add(text[:1310])
        writer.add(text[1310:])
    headlines = [one.headline for one in finished(tmp_path).crashes]
    assert headlines[-1] == LOCKUP.decode().split("] ", 1)[1].strip()
    assert len(set(headlines)) == len(headlines) <= 2
    if before >= len(LOCKUP) - 2:
        assert len(headlines) == 1


def test_a_cut_without_a_crash_is_told_and_is_not_fatal(tmp_path: Path) -> None:
    with ConsoleWriter(tmp_path, limit=2000) as writer:
        writer.add(NOISE * 3)
    manifest = finished(tmp_path)
    assert manifest.crashes == []
    [(text, fatal)] = told(manifest)
    assert "not whole from its line 155 on" in text
    assert not fatal


def test_a_crash_after_the_cut_is_known_before_the_end(tmp_path: Path) -> None:
    with ConsoleWriter(tmp_path, limit=100) as writer:
        writer.add(NOISE + LOCKUP)
        account = read_account(tmp_path)
    assert account is not None
    assert [one.kind for one in account.crashes] == ["soft lockup"]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_what_a_disk_does_not_take_is_searched_and_told(tmp_path: Path) -> None:
    text = NOISE * 2 + LOCKUP + NOISE * 2
    with files_of_at_most(2000), ConsoleWriter(tmp_path) as writer:
        writer.add(text[:1500])
        writer.add(text[1500:])
        writer.add(PANIC)
    assert read_console(tmp_path) == text[:2000]
    manifest = finished(tmp_path)
    assert [one.kind for one in manifest.crashes] == ["soft lockup", "panic"]
    crash, console = told(manifest)
    assert crash[1]
    assert "console.log could not be written (File too large)" in console[0]
    assert "it is not kept" in console[0]
    assert not console[1]


def test_a_disk_that_fails_once_leaves_no_hole(tmp_path: Path) -> None:
    with ConsoleWriter(tmp_path) as writer:
        writer.add(b"one\n")
        with files_of_at_most(4):
            writer.add(b"two\n")
        writer.add(b"three\n")
    assert read_console(tmp_path) == b"one\n"
    account = read_account(tmp_path)
    assert account is not None
    assert "not whole" in account.text


class Failing:
    """A file on a disk that fails once."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.failed = False

    def write(self, data: bytes) -> int:
        if not self.failed:
            self.failed = True
            raise OSError(5, "Input/output error")
        return self._file.write(data)

    def close(self) -> None:
        self._file.close()


def test_where_there_is_room_for_a_word_the_file_itself_says_that_it_ends(tmp_path: Path) -> None:
    with ConsoleWriter(tmp_path) as writer:
        writer.add(b"one\n")
        inner = cast(Any, writer)
        inner._file = Failing(inner._file)
        writer.add(b"two\n")
        writer.add(b"three\n")
    assert read_console(tmp_path) == b"one\n" + FAILED
    assert (tmp_path / END).read_bytes() == b"two\nthree\n"
    account = read_account(tmp_path)
    assert account is not None
    assert "from its line 3 on: console.log could not be written (Input/output" in account.text


def test_where_nothing_can_be_written_that_is_an_error(tmp_path: Path) -> None:
    writer = ConsoleWriter(tmp_path / "gone")
    with pytest.raises(DiskError, match="cannot be written"), writer:
        writer.add(b"one\n")


def test_a_console_that_cannot_be_written_hides_no_other_error(tmp_path: Path) -> None:
    writer = ConsoleWriter(tmp_path / "gone")
    writer.add(b"one\n")
    with pytest.raises(KeyError), writer:
        raise KeyError


def test_a_log_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with ConsoleWriter(tmp_path) as writer:
        writer.copy(tmp_path)
    account = read_account(tmp_path)
    assert account is not None
    assert "could not be read to its end (Is a directory)" in account.text
    (tmp_path / ACCOUNT).unlink()
    with ConsoleWriter(tmp_path) as writer:
        writer.copy(tmp_path)
        writer.copy(tmp_path / "none yet")
        (tmp_path / "log").write_bytes(b"boot\n")
        writer.copy(tmp_path / "log")
    assert read_account(tmp_path) is None


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b'{"text": 1, "crashes": []}'])
def test_an_account_that_is_none_is_left_alone(tmp_path: Path, data: bytes) -> None:
    (tmp_path / ACCOUNT).write_bytes(data)
    assert read_account(tmp_path) is None


# -- while a board is measured


class PaperConsole:
    def __init__(self, log: Path, *, framed: bool) -> None:
        self.log = log
        self.framed = framed


class PaperBoard:
    def __init__(self, log: Path, *, framed: bool) -> None:
        self.console = PaperConsole(log, framed=framed)


def kept(tmp_path: Path, said: bytes, meanwhile: Callable[[], None] = lambda: None) -> bytes:
    log = tmp_path / "log"
    log.write_bytes(said)
    board = cast(Board, PaperBoard(log, framed=True))
    with copy_console(board.console, tmp_path):
        meanwhile()
    return read_console(tmp_path) or b""


FRAME = encode_frame(7, 1, bytes(range(256)))


@pytest.mark.parametrize("cut", [0, 100])
def test_the_last_words_of_a_board_whose_frames_share_the_console_are_kept(
    tmp_path: Path, cut: int
) -> None:
    assert kept(tmp_path, b"boot\r\n" + FRAME * 3 + FRAME[:cut] + PANIC).endswith(PANIC)
    assert [one.kind for one in finished(tmp_path).crashes] == ["panic"]


def test_the_last_words_are_kept_though_whylate_is_killed(tmp_path: Path) -> None:
    def wait() -> None:
        deadline = time.monotonic() + 20
        while PANIC not in (read_console(tmp_path) or b"") and time.monotonic() < deadline:
            time.sleep(0.01)
        assert PANIC in (read_console(tmp_path) or b"")

    assert kept(tmp_path, b"boot\r\n" + FRAME + PANIC, wait) == b"boot\r\n" + PANIC


def test_a_console_without_frames_is_kept_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(FRAME + PANIC)
    with copy_console(cast(Board, PaperBoard(log, framed=False)).console, tmp_path):
        pass
    assert read_console(tmp_path) == FRAME + PANIC
