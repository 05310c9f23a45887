"""The lab's cache: one builds at a time, nobody waits in silence, and a full disk is one line."""

from __future__ import annotations

import errno
import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from whylate.boards.board import notify_nobody
from whylate.files import write_whole
from whylate.lab import cache
from whylate.lab.cache import building, cache_directory
from whylate.lab.description import virtual_board
from whylate.lab.errors import LabError
from whylate.lab.faults import build as build_module
from whylate.lab.faults import place as place_module
from whylate.lab.faults.build import programs
from whylate.lab.faults.catalogue import Fault, fault, use


@contextmanager
def locked_by_another(directory: Path) -> Iterator[int]:
    """Hold the lock as another process does: by another description of the file."""
    fd = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    fcntl.flock(fd, fcntl.LOCK_EX)
    try:
        yield fd
    finally:
        os.close(fd)


def is_locked(directory: Path) -> bool:
    fd = os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(fd)


def test_whoever_waits_for_another_build_says_so_once(tmp_path: Path) -> None:
    shown: list[str] = []
    with locked_by_another(tmp_path) as fd:
        threading.Timer(0.5, fcntl.flock, [fd, fcntl.LOCK_UN]).start()
        with building(tmp_path, shown.append):
            assert is_locked(tmp_path)
    assert shown == [f"waiting for another build in {tmp_path}"]
    with building(tmp_path, shown.append):
        pass
    assert len(shown) == 1, "nobody was waited for"


def test_another_build_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "PATIENCE_S", 0.3)
    with (
        locked_by_another(tmp_path),
        pytest.raises(LabError, match="another whylate has been building in"),
        building(tmp_path),
    ):
        pass
    assert not is_locked(tmp_path)


def test_another_thread_is_waited_for_as_another_process_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "PATIENCE_S", 0.3)
    shown: list[str] = []
    failed: list[str] = []

    def other() -> None:
        try:
            with building(tmp_path, shown.append):
                pass
        except LabError as error:
            failed.append(str(error))

    with building(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(10)
    assert len(shown) == len(failed) == 1


def test_it_may_be_used_within_itself(tmp_path: Path) -> None:
    with building(tmp_path):
        with building(tmp_path):
            pass
        assert is_locked(tmp_path)
    assert not is_locked(tmp_path)


@pytest.mark.parametrize("name", [None, "somewhere/file"])
def test_what_the_disk_refuses_is_one_line(tmp_path: Path, name: str | None) -> None:
    with pytest.raises(LabError) as failed, building(tmp_path):
        raise OSError(errno.ENOSPC, "No space left on device", name)
    assert str(failed.value) == f"{name or tmp_path} cannot be used: No space left on device"
    assert not is_locked(tmp_path)


def test_a_reader_that_went_away_is_no_fault_of_the_cache(tmp_path: Path) -> None:
    with pytest.raises(BrokenPipeError), building(tmp_path):
        raise BrokenPipeError


def test_a_cache_that_is_none_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path / "file"))
    with pytest.raises(LabError, match="file cannot be used: "), building(cache_directory()):
        pass
    with pytest.raises(LabError, match="cannot be used: Not a directory"):
        programs("x86_64", [fault("rt-task")], notify_nobody)


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole(tmp_path / "file", b"old")

    def refuse(path: Path, target: Path) -> None:
        del path
        raise OSError(errno.EROFS, "Read-only file system", str(target))

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(OSError, match="Read-only"):
        write_whole(tmp_path / "file", b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_bytes() == b"old"


def test_two_who_build_the_same_program_do_not_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path))
    monkeypatch.setattr(build_module, "require", lambda *_: None)
    both = threading.Barrier(2)

    def compiled(compiler: str, source: Path, target: Path) -> None:
        del compiler, source
        target.write_bytes(b"half of ")
        both.wait(10)
        with target.open("ab") as file:
            file.write(b"a program")
        both.wait(10)

    monkeypatch.setattr(build_module, "_compile", compiled)
    built: list[bytes] = []
    threads = [
        threading.Thread(
            target=lambda: built.append(
                programs("x86_64", [fault("rt-task")], notify_nobody)["rt-task"]
            )
        )
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert built == [b"half of a program"] * 2
    assert [path.name for path in tmp_path.glob("faults/*/*")] == ["rt-task"]


def test_only_one_looks_for_modules_and_builds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path))
    locked: list[bool] = []

    def modules(board: object, faults: list[Fault], *more: object) -> dict[str, bytes]:
        del board, more
        locked.append(is_locked(tmp_path))
        return {fault.name: b"module" for fault in faults}

    monkeypatch.setattr(place_module, "modules", modules)
    (placed,) = place_module.place(
        [use("irqs-off")], machine="x86_64", board=virtual_board("pc"), cpus=1, notify=notify_nobody
    )
    assert placed.data == b"module"
    assert locked == [True]
