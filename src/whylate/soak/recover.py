"""Recover a board that did not boot with an image, by writing the last good one to its card."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.run.errors import RequestError
from whylate.run.progress import Observer
from whylate.soak.card import SoakCard
from whylate.soak.console import ConsoleTail
from whylate.soak.cycle import short_why
from whylate.soak.failure_kinds import FailureKind
from whylate.soak.guard import Guard
from whylate.soak.model import Cycle, SoakPlan

#: After these the last good image is written.
NOT_BACK: tuple[FailureKind, ...] = ("flash-failed", "no-boot")
#: What the console printed meanwhile, in the cycle's directory.
CONSOLE = "recovery.log"


def recover(
    board: Board,
    card: SoakCard,
    cycle: Cycle,
    plan: SoakPlan,
    place: Path,
    observer: Observer,
    stopped: Callable[[], bool],
) -> Cycle:
    """Write the last good image, boot it, and switch off; return the cycle with how that went.

    Its total time has that of the recovery. Where the user ends it, the cycle is as it was. Raises
    DiskError.
    """
    assert board.power is not None  # noqa: S101 - soak() refuses such boards
    assert cycle.flash is not None  # noqa: S101 - its card was to be written
    began = time.monotonic()
    observer.log(f"recovering {board.name} with {card.good}")
    tail = ConsoleTail(board.console, place / CONSOLE) if board.console is not None else None
    why_not = ""
    try:
        with Guard(board.power, tail, stopped) as guard:
            try:
                card.write_good(observer.log)
                guard.stage(plan.boot_timeout_s, 0.0)
                board.boot(observer.log)
            except (BoardError, RequestError) as error:
                why_not = short_why(str(error)) or "it did not boot"
                if guard.cut == "late":
                    why_not = f"it did not come up within {plan.boot_timeout_s:g} s"
            finally:
                guard.over()
                with contextlib.suppress(BoardError):
                    board.power.off()
    finally:
        if tail is not None:
            tail.close()
    if guard.cut == "left":
        return cycle
    flash = msgspec.structs.replace(cycle.flash, recovered=not why_not, why_not=why_not)
    total_s = round(cycle.total_s + time.monotonic() - began, 3)
    return msgspec.structs.replace(cycle, flash=flash, total_s=total_s)
