"""The end of a console, whatever its board prints."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from whylate.boards.qemu.machine import BoundedLog
from whylate.watch.console_tail import MOST_BYTES, MOST_LINES, MOST_SHOWN, ConsoleTail
from whylate.watch.model import ConsoleView

HOSTILE = (
    b"\x1b]0;owned\x07\x1b[2J\x1b[31mred\x1b[0m\r\n"
    b"<script>alert(1)</script> [bold]markup[/bold]\n"
    b"\xe2\x80\xaereversed \xff\xfe\x9b31m\n"
    b"10 %\r20 %\r100 %\n"
)


def view(tail: ConsoleTail) -> ConsoleView:
    seen = tail.poll()
    assert seen is not None
    return seen


def texts(seen: ConsoleView) -> list[str]:
    return [line.text for line in seen.lines]


def test_escapes_markup_and_overrides_are_shown_and_do_nothing(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_bytes(HOSTILE)
    shown = texts(view(ConsoleTail(log)))
    assert shown == [
        "\\x1b]0;owned\\x07red",
        "<script>alert(1)</script> [bold]markup[/bold]",
        "\\u202ereversed \\xff\\xfe\\x9b31m",
        "100 %",
    ]
    assert all(text.isprintable() for text in shown)


def test_lines_that_come_are_added_and_a_half_line_is_shown_until_it_is_whole(
    tmp_path: Path,
) -> None:
    log = tmp_path / "console.log"
    tail = ConsoleTail(log)
    assert tail.poll() is None
    log.write_bytes(b"first\nlog")
    assert texts(view(tail)) == ["first", "log"]
    with log.open("ab") as file:
        file.write("in: é".encode()[:-1])
    assert texts(view(tail)) == ["first", "login: "]
    with log.open("ab") as file:
        file.write("é".encode()[1:] + b"\n")
    assert texts(view(tail)) == ["first", "login: é"]


def test_a_log_that_begins_anew_is_read_anew(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    tail = ConsoleTail(log)
    log.write_bytes(b"Kernel panic - not syncing: first boot\n" * 2)
    assert len(view(tail).crashes) == 1
    log.write_bytes(b"second boot\n")
    assert texts(view(tail)) == ["second boot"]
    log.write_bytes(b"another boot, with more than the former boot\n")
    assert texts(view(tail)) == ["another boot, with more than the former boot"]
    log.unlink()
    log.write_bytes(b"third boot, longer than the second one\n")
    assert texts(view(tail)) == ["third boot, longer than the second one"]
    assert view(tail).crashes == []


def test_crashes_are_marked_where_they_begin(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    log.write_bytes(
        b"[    1.0] fine\n[    2.0] WARNING: CPU: 0 PID: 1 at kernel/a.c:1 f+0x1/0x2\n"
        b"[    3.0] Kernel panic - not syncing: dead\n"
    )
    tail = ConsoleTail(log)
    assert [line.crash for line in view(tail).lines] == ["no", "crash", "fatal"]
    assert "panic: Kernel panic - not syncing: dead" in view(tail).crashes
    with log.open("ab") as file:
        file.write(b"[    4.0] ---[ end Kernel panic\n")
    assert [line.crash for line in view(tail).lines] == ["no", "crash", "fatal", "no"]


def test_a_line_of_10_mb_is_bounded(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    tail = ConsoleTail(log)
    # In pieces, so that all of it is read.
    with log.open("ab", buffering=0) as file:
        for _ in range(20):
            file.write(b"x" * (MOST_BYTES // 2))
            [line] = view(tail).lines
            assert len(line.text) <= MOST_SHOWN + 1
        file.write(b" end\nnext\n")
    assert texts(view(tail))[-1] == "next"
    assert view(tail).skipped_bytes == 0


def test_a_board_that_babbles_at_full_speed_is_read_at_its_end_and_the_rest_is_counted(
    tmp_path: Path,
) -> None:
    log = tmp_path / "console.log"
    tail = ConsoleTail(log)
    line = b"babble \x1b[2J\xff" * 8 + b"\n"
    with log.open("ab", buffering=0) as file:
        file.write(b"before\n")
        assert texts(view(tail)) == ["before"]
        file.write(line * (32 * MOST_BYTES // len(line)))
        file.write(b"Kernel panic - not syncing: at its end\n")
        before = time.process_time()
        seen = view(tail)
        assert time.process_time() - before < 2.0
    size = log.stat().st_size
    assert seen.skipped_bytes == size - len(b"before\n") - MOST_BYTES
    assert len(seen.lines) == MOST_LINES
    assert seen.lines[-1].crash == "fatal"
    assert [line.crash for line in seen.lines[:-1]] == ["no"] * (MOST_LINES - 1)
    again = view(tail)
    assert again == seen


def test_a_crash_that_was_shown_stays_when_much_is_printed(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    tail = ConsoleTail(log)
    panic = "panic: Kernel panic - not syncing: dead"
    with log.open("ab", buffering=0) as file:
        file.write(b"fine\nKernel panic - not syncing: dead\n")
        assert view(tail).crashes == [panic]
        # The next lines have the numbers of former ones.
        file.write(b"y" * (MOST_BYTES + MOST_BYTES // 2) + b"\nafter\nmore\n")
        seen = view(tail)
        assert seen.skipped_bytes
        assert seen.crashes == [panic]
        assert [line.crash for line in seen.lines] == ["no", "fatal", "no", "no", "no"]
        for number in range(20):
            file.write(b"WARNING: CPU: 0 PID: 1 at kernel/a.c:%d f%d+0x1/0x2\n" % (number, number))
        seen = view(tail)
        assert (len(seen.crashes), seen.crashes[0]) == (8, panic)
        assert "kernel/a.c:19 " in seen.crashes[-1]


def test_a_log_whose_middle_is_freed_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    tail = ConsoleTail(log)
    freeing = BoundedLog(log, head=1 << 12, tail=1 << 14)
    line = b"x" * 99 + b"\n"
    with log.open("ab", buffering=0) as file:
        file.write(b"Kernel panic - not syncing: first\n" + line * 500)
        assert len(view(tail).crashes) == 1
        file.write(line * 15_000)
        freeing.free_middle()
        file.write(b"last\n")
    seen = view(tail)
    assert log.read_bytes().count(0) > MOST_BYTES, "the 64 bytes before the next are freed"
    assert len(seen.crashes) == 1
    assert texts(seen)[-2:] == ["x" * 99, "last"]
    assert seen.skipped_bytes >= MOST_BYTES // 4
    assert view(tail) == seen


@pytest.mark.parametrize("kind", ["fifo", "directory", "link", "device"])
def test_what_is_no_file_is_not_read(kind: str, tmp_path: Path) -> None:
    log = tmp_path / "console.log"
    if kind == "fifo":
        os.mkfifo(log)
    elif kind == "directory":
        log.mkdir()
    else:
        log.symlink_to("/etc/passwd" if kind == "link" else "/dev/zero")
    assert ConsoleTail(log).poll() is None
