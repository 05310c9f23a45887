"""Whether a board has the modules of the kernel that it runs."""

from __future__ import annotations

from whylate.boards.board import Board
from whylate.boards.boot import board_files

#: Where modprobe looks, below it the release of the kernel.
MODULES = "/lib/modules"


def missing_modules(board: Board, release: str) -> str:
    """Return what to do about modules that a kernel does not find, or ""; raises BoardError.

    A board without /lib/modules has kernels that need none.
    """
    directory = f"{MODULES}/{release}"
    if not board_files.exists(board, MODULES) or board_files.exists(board, directory):
        return ""
    return (
        f"{board.name}: the kernel {release} runs without modules, since there is no {directory}: "
        "install them there, or put those that a boot needs into initrd"
    )
