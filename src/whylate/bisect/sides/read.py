"""From what the user names to a side."""

from __future__ import annotations

import stat
from pathlib import Path

from whylate.bisect.sides.board import LONG_FILES, REQUESTS, board_side
from whylate.bisect.sides.directory import read_directory
from whylate.bisect.sides.errors import SideError
from whylate.bisect.sides.facts import recording_side
from whylate.bisect.sides.image import MAGIC, MAGIC_AT, read_image
from whylate.bisect.sides.model import Side
from whylate.bisect.sides.root import root_side
from whylate.bisect.sides.tarball import read_tarball
from whylate.boards.board import Notify
from whylate.boards.open import open_board
from whylate.boards.ready import ready
from whylate.lab.description import names
from whylate.recording.reader import open_recording
from whylate.run.read import read_board
from whylate.tarballs import packing

#: What marks a directory as a recording.
_MARKS = ("manifest.json", "journal")
_START = 2048
_TAR_AT, _TAR = 257, b"ustar"
#: The last two bytes of a disk's first sector.
_DISK_AT, _DISK = 510, b"\x55\xaa"


def read_side(name: str, notify: Notify) -> Side:
    """Read a side: a board, a recording, a directory, a tarball or an ext4 image.

    A board that has the name comes first: a file of that name is written ./NAME. Raises SideError,
    RecordingError, BoardError, ProbeError.
    """
    path = Path(name)
    if is_board(name):
        return _read_board(name, notify)
    try:
        start = None if path.is_dir() else _start(path)
    except FileNotFoundError:
        if "/" in name and not name.startswith("ssh:"):
            raise SideError(f"{name} is not there: name a board, a directory or a file") from None
        # Of a bench.
        return _read_board(name, notify)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no file has such a name"
        raise SideError(f"{name} cannot be read: {reason}") from None
    if start is None:
        if any((path / mark).is_file() for mark in _MARKS):
            return recording_side(name, open_recording(path).manifest.facts)
        notify(f"reading {name}")
        return root_side(name, "directory", read_directory(path))
    notify(f"reading {name}")
    if start[MAGIC_AT : MAGIC_AT + 2] == MAGIC:
        return root_side(name, "image", read_image(path))
    if packing(start) is not None or start[_TAR_AT:].startswith(_TAR):
        return root_side(name, "tarball", read_tarball(path))
    if start[_DISK_AT : _DISK_AT + 2] == _DISK:
        raise SideError(
            f"{name} is the image of a whole disk: name the image of its root partition "
            "(fdisk -l says where that begins, dd copies it)"
        )
    raise SideError(
        f"{name} is no side: expected a board, a recording, a directory, a tarball (plain, gz, xz "
        "or zst) or an ext4 image"
    )


def _read_board(name: str, notify: Notify) -> Side:
    with ready(open_board(name), notify) as board:
        return board_side(name, *read_board(board, REQUESTS, notify, LONG_FILES))


def is_board(name: str) -> bool:
    """Whether a name is that of a board, bench aside."""
    return name == "local" or name.startswith("ssh://") or name in names()


def _start(path: Path) -> bytes:
    if not stat.S_ISREG(path.stat().st_mode):
        raise SideError(f"{path} is neither a regular file nor a directory")
    with path.open("rb") as file:
        return file.read(_START)
