"""Restart a board, and wait until it has booted again."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from whylate.boards.board import Board, Notify, notify_nobody
from whylate.boards.boot.board_files import OURS, has_tool, run, sync
from whylate.boards.errors import BoardError
from whylate.text import clean

BOOT_ID = "/proc/sys/kernel/random/boot_id"
#: Far longer than any board takes to shut down and to boot.
RESTART_S = 240.0
_POLL_S = 1.0
#: The answer to the command must be out before the board goes down.
_LATER = '(sleep 1; exec "$@") >/dev/null 2>&1 </dev/null &'


@runtime_checkable
class Reboots(Protocol):
    """A virtual board, which ends where it reboots unless that is expected."""

    def use_reboots(self) -> None:
        """Stay on when the board reboots, from the next time that it is switched on."""

    def expect_reboot(self) -> None:
        """Have boot() wait for another boot than the one so far, without switching it on."""


def boot_id(board: Board) -> str:
    """Return what changes with each boot of a board; raises BoardError."""
    return clean(run(board, ["cat", BOOT_ID], "reading its boot id").decode(errors="replace"), 80)


def restart(board: Board, notify: Notify) -> None:
    """Boot a board anew, by its supply if it has one; raises BoardError."""
    if board.power is not None:
        sync(board)
        notify(f"switching {board.name} off")
        board.power.off()
        board.boot(notify)
        return
    # A board that has systemd shuts down in order; busybox's init is asked by its own command.
    restart_by(board, ["reboot"] if has_tool(board, "reboot") else ["systemctl", "reboot"], notify)


def restart_by(board: Board, argv: Sequence[str], notify: Notify) -> None:
    """Run the command by which a board restarts, and wait for it; raises BoardError."""
    before = boot_id(board)
    sync(board)
    notify(f"restarting {board.name}")
    run_later(board, argv)
    await_restart(board, before, RESTART_S)


def run_later(board: Board, argv: Sequence[str]) -> None:
    """Run a command by which a board restarts, in a second and without its answer."""
    # As it goes down a board may close the connection before the answer.
    with contextlib.suppress(BoardError):
        board.run(["sh", "-c", _LATER, OURS, *argv])


def await_restart(
    board: Board,
    before: str,
    timeout_s: float,
    given_up: Callable[[], bool] = lambda: False,
) -> None:
    """Wait until a board is up with another boot id than before; raises BoardError.

    given_up: whether to stop waiting, as after its power was cut.
    """
    deadline = time.monotonic() + timeout_s
    reason = "it is still up"
    while time.monotonic() < deadline and not given_up():
        time.sleep(_POLL_S)
        try:
            board.boot(notify_nobody)
            if boot_id(board) != before:
                return
            reason = "it is still up"
        except BoardError as error:
            reason = str(error)
    raise BoardError(f"{board.name} did not restart within {timeout_s:g} s: {reason}")
