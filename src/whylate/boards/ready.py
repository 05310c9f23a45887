"""Boards held and booted for the duration of a context, and restored after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from whylate.boards.board import Board, Notify
from whylate.boards.notes import noted_use

B = TypeVar("B", bound=Board)
#: Boots a board that is held; raises BoardError.
Boot = Callable[[Board, Notify], None]


def boot(board: Board, notify: Notify) -> None:
    """Boot a board."""
    board.boot(notify)


@contextmanager
def held(board: B, notify: Notify) -> Iterator[B]:
    """Hold a board during the context, without switching it; raises BoardError."""
    try:
        board.hold(notify)
        with noted_use(board):
            yield board
    finally:
        board.close()


@contextmanager
def ready(board: B, notify: Notify, boot: Boot = boot) -> Iterator[B]:
    """Hold and boot a board during the context; raises BoardError."""
    with held(board, notify):
        boot(board, notify)
        yield board
