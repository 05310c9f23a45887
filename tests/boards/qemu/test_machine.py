"""The process and the files of a virtual board, with any other program in QEMU's place."""

from __future__ import annotations

import errno
import fcntl
import gc
import os
import signal
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from waiting import came_true
from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.qemu import board as board_module
from whylate.boards.qemu import machine as machine_module
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.boards.qemu.machine import BoundedLog, Machine
from whylate.boards.state import BoardLock
from whylate.lab import cache
from whylate.lab.description import virtual_board
from whylate.lab.image import Image

DESCRIPTORS = Path("/proc/self/fd")
MIB = 1 << 20


def full(*words: object) -> None:
    """Do what the operating system does when the disk is full."""
    del words
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.stop()


def start(machine: Machine, script: str, *, outlive: bool = False) -> None:
    # A process is known by the log that its command names.
    machine.start(["sh", "-c", script, "sh", str(machine.console_log)], outlive=outlive)


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[QemuBoard]:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path))
    board = QemuBoard(virtual_board("virt-arm64"))
    board.hold(notify_nobody)
    yield board
    board.close()


# -- the console's log


def test_a_text_is_found_however_it_comes(machine: Machine) -> None:
    start(machine, "printf 'one two' >$1; sleep 0.2; printf ' three four' >>$1; exec sleep 60")
    machine.wait_for(b"two three", 10)
    machine.wait_for(b"one", 10)


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 100])
def test_a_text_is_found_over_the_borders_of_reads(
    machine: Machine, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_module, "_PIECE", piece)
    machine.console_log.write_bytes(b"booting\nready\n$ ")
    search = machine_module._Search(machine.console_log, b"ready")
    assert search.matches()


def test_each_part_of_a_log_is_read_once_and_a_new_log_from_its_beginning(
    machine: Machine,
) -> None:
    search = machine_module._Search(machine.console_log, b"ready")
    assert not search.matches()
    machine.console_log.write_bytes(b"-" * 1000)
    assert not search.matches()
    with machine.console_log.open("r+b") as log:
        log.write(b"ready")
    assert not search.matches(), "what was read is not read again"
    machine.console_log.write_bytes(b"ready")
    assert search.matches(), "it is shorter, so it is another log"


def test_last_words_are_read_of_a_log_of_any_size(machine: Machine) -> None:
    with machine.console_log.open("wb") as log:
        log.truncate(1 << 40)
        log.seek(1 << 40)
        log.write(b"\nthe very last words\n")
    assert machine.last_words().endswith("the very last words")


def test_the_middle_of_a_log_is_given_back_and_the_writer_writes_on(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    bounded = BoundedLog(path, head=4 * MIB, tail=MIB)
    with path.open("wb", buffering=0) as writer:
        for number in range(32):
            writer.write(bytes([65 + number]) * MIB)
            try:
                bounded.free_middle()
            except OSError as error:
                if error.errno == errno.EOPNOTSUPP:
                    pytest.skip("this file system cannot give back a part of a file")
                raise
    status = path.stat()
    assert status.st_size == 32 * MIB
    assert status.st_blocks * 512 <= 7 * MIB
    data = path.read_bytes()
    assert data[: 4 * MIB] == b"".join(bytes([65 + n]) * MIB for n in range(4))
    assert data[-MIB:] == bytes([65 + 31]) * MIB
    assert set(data[5 * MIB : 20 * MIB]) == {0}


def test_a_log_is_bounded_for_as_long_as_the_board_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    punched = threading.Event()
    monkeypatch.setattr(BoundedLog, "free_middle", lambda _: punched.set())
    monkeypatch.setattr("whylate.boards.qemu.machine.POLL_S", 0.01)
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path))
    before = threading.active_count()
    board = QemuBoard(virtual_board("virt-arm64"))
    assert threading.active_count() == before
    board.hold(notify_nobody)
    assert punched.wait(10)
    board.close()
    assert threading.active_count() == before


# -- the process


def test_a_board_that_outlives_us_is_left_without_a_warning_and_found_again(
    tmp_path: Path,
) -> None:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        machine = Machine(tmp_path)
        start(machine, "sleep 60; :", outlive=True)
        pid = machine.pid
        del machine
        gc.collect()
    assert not seen
    again = Machine(tmp_path)
    assert pid is not None
    assert again.pid == pid
    # With what the shell has started.
    os.killpg(pid, signal.SIGKILL)
    assert came_true(lambda: not Path(f"/proc/{pid}").exists()), "it is reaped"
    assert again.pid is None
    again.stop()


def test_a_board_that_nobody_would_find_again_is_not_left_running(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = threading.active_count()
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(BoardError, match="cannot be written: No space"):
        start(machine, "exec sleep 60", outlive=True)
    assert machine.pid is None
    assert came_true(lambda: threading.active_count() == started)


def test_a_directory_that_is_gone_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="cannot be written: No such file"):
        start(Machine(tmp_path / "gone"), "true")


# -- what a full disk does


@pytest.mark.parametrize("refused", ["ftruncate", "write"])
def test_a_lock_needs_no_room_on_the_disk(
    refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = len(list(DESCRIPTORS.iterdir()))
    lock = BoardLock(tmp_path, "board")
    with monkeypatch.context() as patch:
        patch.setattr(os, refused, full)
        lock.acquire()
    with pytest.raises(BoardBusyError, match="another process has it"):
        BoardLock(tmp_path, "board").acquire()
    with monkeypatch.context() as patch:
        patch.setattr(os, refused, full)
        lock.release()
    assert not lock.held
    assert len(list(DESCRIPTORS.iterdir())) == before


def test_a_lock_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="lock cannot be written: No such file"):
        BoardLock(tmp_path / "gone", "board").acquire()


def test_a_lock_that_a_file_system_does_not_have_is_not_taken_for_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*words: object) -> None:
        del words
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    before = len(list(DESCRIPTORS.iterdir()))
    monkeypatch.setattr(fcntl, "flock", none)
    with pytest.raises(BoardError, match="cannot be locked: No locks available") as failed:
        BoardLock(tmp_path, "board").acquire()
    assert not isinstance(failed.value, BoardBusyError)
    assert len(list(DESCRIPTORS.iterdir())) == before


def test_a_full_disk_ends_a_run_in_virtual_time_with_one_line(
    board: QemuBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "mkdtemp", lambda **_: full())
    with pytest.raises(BoardError, match="cannot be written: No space left"):
        board.carry_out(b"", 1, notify_nobody)


def test_a_full_disk_refuses_an_image_with_more_files_in_one_line(
    board: QemuBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "initrd").write_bytes(b"initrd")
    image = Image(tmp_path / "k", tmp_path / "initrd", None, "6.1", "0")
    board.options = VirtualOptions(files=(("/file", b"data", 0o644),))
    made = board._with_files(image, ())
    assert made.read_bytes().startswith(b"initrd")
    monkeypatch.setattr(board_module, "write_whole", full)
    with pytest.raises(BoardError, match="cannot be written: No space left"):
        board._with_files(image, ())


@pytest.mark.parametrize("where", ["is_fetched", "build"])
def test_a_cache_that_cannot_be_used_is_one_line(
    where: str, board: QemuBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path / "lab"))
    monkeypatch.setattr(board_module, "is_fetched", lambda _: True)
    monkeypatch.setattr(board_module, where, full)
    with pytest.raises(BoardError, match=r"lab cannot be (read|used): No space left on device$"):
        _ = board.release


def test_whoever_boots_a_board_hears_that_another_build_is_waited_for(
    board: QemuBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path / "lab"))
    monkeypatch.setattr(board_module, "is_fetched", lambda _: True)
    monkeypatch.setattr(cache, "PATIENCE_S", 0.2)
    shown: list[str] = []
    monkeypatch.setattr(board, "_tell", shown.append)
    (tmp_path / "lab").mkdir()
    with (tmp_path / "lab" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BoardError, match="another whylate has been building"):
            _ = board.release
    assert shown == [f"waiting for another build in {tmp_path / 'lab'}"]


# -- what killed runs leave behind


def test_what_a_killed_run_left_is_removed_by_the_next(
    board: QemuBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / board.name
    (directory / "run-killed").mkdir()
    (directory / "run-killed" / "port").write_bytes(bytes(1000))
    (directory / "kept").mkdir()

    def fail(*words: object, **more: object) -> None:
        del words, more
        raise BoardError("not today")

    monkeypatch.setattr(board, "_start_planned", fail)
    with pytest.raises(BoardError, match="not today"):
        board.carry_out(b"", 1, notify_nobody)
    assert not list(directory.glob("run-*"))
    assert (directory / "kept").is_dir()
