"""A board taken, booted, and left again as it was found."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from whylate.boards.board import Board, Tell


@contextmanager
def ready(board: Board, tell: Tell) -> Iterator[Board]:
    """Hold and boot a board for as long as the context lasts; raises BoardError."""
    try:
        board.hold(tell)
        board.boot(tell)
        yield board
    finally:
        board.close()
