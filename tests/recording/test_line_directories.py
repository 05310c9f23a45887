"""Directories with a line for each part that is done: a line is there whole, or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from whylate.files import write_all
from whylate.recording.errors import DiskError
from whylate.recording.store.lines import Layout, LineDirectory


class Plan(msgspec.Struct):
    schema_version: int = 1


class Line(msgspec.Struct):
    number: int


LAYOUT = Layout("test", "plan.json", Plan, 1, "lines.jsonl", Line, "parts")


def test_a_line_for_which_there_is_no_room_leaves_nothing_before_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(fd: int, data: bytes) -> None:
        write_all(fd, data[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with LineDirectory(tmp_path / "d", LAYOUT, Plan()) as directory:
        directory.append(Line(1))
        with monkeypatch.context() as patch:
            patch.setattr("whylate.recording.store.lines.write_all", full)
            with pytest.raises(DiskError, match=r"lines\.jsonl cannot be written: No space left"):
                directory.append(Line(2))
        # A thread of another board goes on where there is room again.
        directory.append(Line(3))
        assert [line.number for line in directory.lines] == [1, 3]
    assert LAYOUT.read(tmp_path / "d")[1] == [Line(1), Line(3)]


def test_lines_stay_where_their_size_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(_: int) -> os.stat_result:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with LineDirectory(tmp_path / "d", LAYOUT, Plan()) as directory:
        directory.append(Line(1))
        with monkeypatch.context() as patch:
            patch.setattr("whylate.recording.store.lines.os.fstat", failing)
            with pytest.raises(DiskError, match=r"lines\.jsonl cannot be written: Input/output"):
                directory.append(Line(2))
        directory.append(Line(3))
    assert LAYOUT.read(tmp_path / "d")[1] == [Line(1), Line(3)]
