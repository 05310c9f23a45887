"""The sum of a cached file is computed once, and again when the file is another one."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from whylate.files import sha256_of
from whylate.lab import sums
from whylate.lab.sums import NOTE, cached_sha256

#: Longer than the clock of a file system needs for another time.
TICK_S = 0.02


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is no longer recent, and whose sum was asked for."""
    monkeypatch.setattr(sums, "RECENT_NS", 0)
    path = tmp_path / "linux_1.deb"
    path.write_bytes(b"kernel" * 1000)
    time.sleep(TICK_S)
    assert cached_sha256(path) == sha256_of(path)
    return path


def test_a_file_is_read_once(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = sha256_of(package)

    def refuse(path: Path) -> str:
        raise AssertionError(f"{path} was read again")

    monkeypatch.setattr(sums, "sha256_of", refuse)
    assert cached_sha256(package) == expected


def test_a_changed_byte_is_noticed_though_size_and_time_are_those_of_before(package: Path) -> None:
    before, expected = package.stat(), sha256_of(package)
    time.sleep(TICK_S)
    with package.open("r+b") as file:
        file.write(b"K")
    os.utime(package, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = package.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert cached_sha256(package) == sha256_of(package) != expected


def test_another_file_of_that_name_is_noticed(package: Path) -> None:
    other = package.with_name("other")
    other.write_bytes(package.read_bytes().upper())
    other.replace(package)
    assert cached_sha256(package) == sha256_of(package)


@pytest.mark.parametrize("note", [b"", b"\xff", b"0 1", b"sum 1 2 3 4\n"])
def test_a_note_of_another_state_is_not_believed(package: Path, note: bytes) -> None:
    package.with_name(package.name + NOTE).write_bytes(note)
    assert cached_sha256(package) == sha256_of(package)


def test_a_recent_file_has_no_note_for_it_may_change_within_a_tick(tmp_path: Path) -> None:
    path = tmp_path / "linux_1.deb"
    path.write_bytes(b"kernel")
    assert cached_sha256(path) == sha256_of(path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_sum_needs_no_note(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package.with_name(package.name + NOTE).unlink()

    def refuse(path: Path, data: bytes) -> None:
        del data
        raise PermissionError(13, "read-only", str(path))

    monkeypatch.setattr(sums, "write_whole", refuse)
    assert cached_sha256(package) == sha256_of(package)
