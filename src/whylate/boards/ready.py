"""A board taken, booted, and left again as it was found."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from whylate.boards.board import Board, Tell

B = TypeVar("B", bound=Board)
#: Has a board that is held up and running; raises BoardError.
Boot = Callable[[Board, Tell], None]


def boot(board: Board, tell: Tell) -> None:
    """Boot a board as it is."""
    board.boot(tell)


@contextmanager
def held(board: B, tell: Tell) -> Iterator[B]:
    """Hold a board, on or off as it is, for as long as the context lasts; raises BoardError."""
    try:
        board.hold(tell)
        yield board
    finally:
        board.close()


@contextmanager
def ready(board: B, tell: Tell, boot: Boot = boot) -> Iterator[B]:
    """Hold and boot a board for as long as the context lasts; raises BoardError."""
    with held(board, tell):
        boot(board, tell)
        yield board
