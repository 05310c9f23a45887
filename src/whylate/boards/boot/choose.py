"""Which boot method a board has: the declared one, or the first that it is seen to have."""

from __future__ import annotations

from collections.abc import Callable

from whylate.boards.board import Board, Notify
from whylate.boards.boot.method import BootMethod, BootMethodError
from whylate.boards.boot.options import BootOptions, boot_options
from whylate.boards.boot.u_boot import UBoot

Make = Callable[[Board, BootOptions], BootMethod]
METHODS: dict[str, Make] = {"u-boot": UBoot}


def method_for(board: Board, notify: Notify) -> BootMethod:
    """Return the boot method of a board that is up; raises BootMethodError, BoardError."""
    options = boot_options(board)
    if options.method:
        return named_method(board, options.method)
    notify(f"{board.name} declares no boot method")
    raise BootMethodError(
        f"{board.name}: no boot method: declare it in its environment file "
        "(docs/how-to/boot-knobs.md)"
    )


def named_method(board: Board, name: str) -> BootMethod:
    """Return a boot method by its name; raises BootMethodError."""
    if name not in METHODS:
        raise BootMethodError(
            f"{board.name}: unknown boot method {name[:40]!r}, expected one of {', '.join(METHODS)}"
        )
    return METHODS[name](board, boot_options(board))
