"""Reboot the board of a soak by a command, or by its watchdog, while its power stays on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from whylate.boards.board import Board
from whylate.boards.boot.restart import Reboots, await_restart, boot_id, run_later
from whylate.boards.errors import BoardError
from whylate.run.errors import RequestError
from whylate.text import clean

#: The means that is no command.
WATCHDOG = ["watchdog"]
_DEVICE = "/dev/watchdog"
#: A watchdog that was opened runs until it is fed no more; closing it may stop it, so that a
#: process in the background keeps it open.
_OPEN = f"exec 3>{_DEVICE} || exit 1; sleep 3600 >/dev/null 2>&1 </dev/null &"


def check_means(board: Board, means: Sequence[str]) -> None:
    """Raise RequestError for a board that is up and has not what reboots it."""
    if list(means) != WATCHDOG:
        return
    if board.run(["test", "-c", _DEVICE]).status != 0:
        raise RequestError(
            f"{board.name} has no {_DEVICE}: load the driver of its watchdog, or reboot it by "
            "--reboot 'reboot -f'"
        )


def reboot(
    board: Board, means: Sequence[str], timeout_s: float, given_up: Callable[[], bool]
) -> None:
    """Reboot a board that is up, and wait until it is up with another boot id.

    Nothing is synced first: it is the means that is under test. Raises BoardError.
    """
    before = boot_id(board)
    if list(means) == WATCHDOG:
        opened = board.run(["sh", "-c", _OPEN])
        if opened.status != 0:
            why = clean(opened.error.decode(errors="replace"), 200)
            raise BoardError(f"{_DEVICE} of {board.name} cannot be opened: {why}")
    else:
        run_later(board, means)
    if isinstance(board, Reboots):
        board.expect_reboot()
    await_restart(board, before, timeout_s, given_up)
