"""Waiting for a board that somebody else has, and for a turn to be switched on."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from whylate.boards.board import Notify, notify_nobody
from whylate.boards.errors import BoardBusyError
from whylate.quantities import format_seconds_up

#: Between two attempts, s. Nobody reports that a lock, or a place of a coordinator, became free.
ATTEMPT_S = 2.0
_POLL_S = 0.1

T = TypeVar("T")


def never() -> bool:
    """Return that nobody has asked for the end."""
    return False


@dataclass(frozen=True)
class Waiting:
    """How a board waits for others, and who is shown that.

    limit_s: how long hold() waits for a board that somebody else has; 0: it does not. stopped:
    whether the user has asked for the end, which ends the waiting. notify: shows who has the board,
    and for how long its supply waited for its turn; None: what is given to hold().
    """

    limit_s: float = 0.0
    stopped: Callable[[], bool] = never
    notify: Notify | None = None

    def acquire(self, name: str, acquire: Callable[[Notify], T], notify: Notify) -> T:
        """Return what `acquire` returns, attempted until nobody else has the board.

        Its notify is `notify` at the first attempt only. Raises its BoardBusyError after limit_s,
        and its other errors at once.
        """
        show = self.notify or notify
        began = time.monotonic()
        quiet = notify
        while True:
            try:
                acquired = acquire(quiet)
            except BoardBusyError as error:
                waited_s = time.monotonic() - began
                if not self.limit_s or self.stopped():
                    raise
                if waited_s >= self.limit_s:
                    spent = format_seconds_up(waited_s)
                    raise BoardBusyError(f"{error}; {spent} of waiting were not enough") from None
                if quiet is notify:
                    limit = format_seconds_up(self.limit_s)
                    show(f"waiting at most {limit} for {name}: {error}")
                    quiet = notify_nobody
                self._pause(min(ATTEMPT_S, self.limit_s - waited_s))
            else:
                if quiet is not notify:
                    show(f"{name} is ours after {format_seconds_up(time.monotonic() - began)}")
                return acquired

    def _pause(self, pause_s: float) -> None:
        until = time.monotonic() + pause_s
        while time.monotonic() < until and not self.stopped():
            time.sleep(_POLL_S)
