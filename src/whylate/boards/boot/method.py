"""The interface of a boot method."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from whylate.boards.board import Board, Notify
from whylate.boards.boot.entry import Entry
from whylate.boards.errors import BoardError


class BootMethodError(BoardError):
    """A boot method that this board does not have, or cannot use: another attempt is in vain."""


class BootMethod(Protocol):
    """Boots a board once by another entry; the next boot is the board's own again.

    Every method needs the board up, except where it is stated, and raises BoardError.
    """

    @property
    def name(self) -> str:
        """The name by which an environment file declares it."""

    @property
    def directory(self) -> str:
        """The directory on the board that has whylate's files, and nothing else."""

    @property
    def host_directory(self) -> Path | None:
        """The directory of this machine with whylate's files, where it is not on the board."""

    @property
    def starts_cold(self) -> bool:
        """Whether a board that is off can be started with an entry for which it was armed once."""

    def on(self, board: Board) -> BootMethod:
        """Return the same for a new connection to the board, with what is known of it."""

    def own(self) -> Entry:
        """Return the entry that the board boots by itself."""

    def path(self, on_board: str) -> str:
        """Return the path by which its boot loader knows a file of the board."""

    def touches(self) -> list[str]:
        """Return the files outside the directory that arm() changes, by their paths."""

    def arm(self, entry: Entry) -> None:
        """Make the next boot, and no other, that of an entry."""

    def disarm(self) -> None:
        """Make the next boot the board's own; no error if it is that already.

        The files of touches() are put back by the caller.
        """

    def start(self, entry: Entry, notify: Notify) -> None:
        """Boot the entry for which the board is armed, and wait until the board takes commands."""
