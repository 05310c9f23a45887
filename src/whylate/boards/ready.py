"""Boards held and booted for the duration of a context, and restored after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from whylate.boards.board import Board, Tell

B = TypeVar("B", bound=Board)
#: Boots a board that is held; raises BoardError.
Boot = Callable[[Board, Tell], None]


def boot(board: Board, tell: Tell) -> None:
    """Boot a board."""
    board.boot(tell)


@contextmanager
def held(board: B, tell: Tell) -> Iterator[B]:
    """Hold a board during the context, without switching it; raises BoardError."""
    try:
        board.hold(tell)
        yield board
    finally:
        board.close()


@contextmanager
def ready(board: B, tell: Tell, boot: Boot = boot) -> Iterator[B]:
    """Hold and boot a board during the context; raises BoardError."""
    with held(board, tell):
        boot(board, tell)
        yield board
