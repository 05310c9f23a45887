"""From a name on the command line to a board."""

from __future__ import annotations

from whylate.boards.board import Board, BoardError
from whylate.boards.local import LocalBoard


def open_board(name: str) -> Board:
    """Return the board of that name; raises BoardError."""
    if name == "local":
        return LocalBoard()
    raise BoardError(
        f"there is no board {name[:80]!r}: this version measures only the machine it runs on, "
        "which is called local"
    )
