"""What the boot methods share that read extlinux.conf: its entry, and where it is."""

from __future__ import annotations

import copy
import posixpath
from pathlib import Path
from typing import Self

from whylate.boards.board import Board
from whylate.boards.boot import board_files
from whylate.boards.boot.entry import Entry
from whylate.boards.boot.extlinux_conf import default_entry
from whylate.boards.boot.method import BootMethodError
from whylate.boards.boot.options import BootOptions

#: Where a board has the file, by its paths.
CONFS = ("/boot/extlinux/extlinux.conf", "/extlinux/extlinux.conf")
LABEL = "whylate"


class OfExtlinuxConf:
    """A boot method of a board whose boot loader reads extlinux.conf."""

    host_directory: Path | None = None

    def __init__(self, board: Board, options: BootOptions) -> None:
        self._board = board
        self._options = options
        self._where = ""
        self._root: str | None = None

    def on(self, board: Board) -> Self:
        """Return the same for a new connection to the board."""
        fresh = copy.copy(self)
        fresh._board = board
        return fresh

    @property
    def conf(self) -> str:
        """The path of extlinux.conf on the board; raises BootMethodError if there is none."""
        if not self._where:
            paths = (self._options.conf,) if self._options.conf else CONFS
            there = [path for path in paths if board_files.exists(self._board, path)]
            if not there:
                raise BootMethodError(
                    f"{self._board.name}: there is no {' or '.join(paths)}: declare `conf`"
                )
            self._where = there[0]
        return self._where

    @property
    def directory(self) -> str:
        """The directory for whylate's files: beside that of the file, on the same partition."""
        above = posixpath.dirname(posixpath.dirname(self.conf))
        return posixpath.join(above, board_files.OURS)

    def own(self) -> Entry:
        """Return the entry that the file has as its default; raises BoardError."""
        text = board_files.read_text(self._board, self.conf) or ""
        entry = default_entry(text, self.path(posixpath.dirname(self.conf)))
        if entry is None:
            raise BootMethodError(f"{self._board.name}: {self.conf} has no entry with a kernel")
        return entry

    def path(self, on_board: str) -> str:
        """Return a path from the root of the partition; raises BoardError."""
        if self._root is None:
            above = posixpath.dirname(self.directory)
            self._root = board_files.mount_point(self._board, above)
        return "/" + posixpath.relpath(on_board, self._root)
