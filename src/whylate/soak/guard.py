"""Watches over one cycle of a soak: a stage that does not end has its power cut."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Literal

from whylate.boards.board import BoardError, Power
from whylate.recording.errors import DiskError
from whylate.soak.console import ConsoleTail

#: How often it looks, and copies the console.
LOOK_S = 0.1
#: A board that does not go off is told again after this long.
AGAIN_S = 15.0


class Guard:
    """A thread that follows the console and cuts the power: late stages, and users who leave.

    Whoever waits for the board then sees it die, and comes back.
    """

    def __init__(self, power: Power, tail: ConsoleTail | None, stopped: Callable[[], bool]) -> None:
        self._power = power
        self._tail = tail
        self._stopped = stopped
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._deadline: float | None = None
        self._patience_s = 0.0
        self._left_at: float | None = None
        #: Why the power was cut; None while it was not.
        self.cut: Literal["late", "left"] | None = None
        #: How much the console had printed before the last cut, and when that was done.
        self._said: tuple[int, int] | None = None
        self._thread = threading.Thread(target=self._watch, name="soak-guard", daemon=True)

    def __enter__(self) -> Guard:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop watching."""
        self._end.set()
        self._thread.join()

    def stage(self, limit_s: float, patience_s: float) -> None:
        """Begin a stage that may last `limit_s`, and `patience_s` once the user wants to leave."""
        with self._lock:
            self._deadline = time.monotonic() + limit_s
            self._patience_s = patience_s

    def over(self) -> None:
        """End the last stage: nothing is cut from here on, not even halfway."""
        with self._lock:
            self._deadline = None

    def living(self, printed: int) -> int:
        """Return how much of what was printed came from a board that had its power.

        A cut that was too early cut nothing: then the board went on, and so did its console.
        """
        before, after = self._said or (printed, printed)
        return min(printed, before) if printed <= after else printed

    def _watch(self) -> None:
        while not self._end.wait(LOOK_S):
            if self._tail is not None:
                # The disk's faults are told by whoever writes to it next.
                with contextlib.suppress(DiskError):
                    self._tail.copy()
            with self._lock:
                reason = self._reason(time.monotonic())
                if reason is not None:
                    self.cut = self.cut or reason
                    self._cut_it()
                    self._deadline = time.monotonic() + AGAIN_S

    def _cut_it(self) -> None:
        before = self._tail.bytes if self._tail is not None else 0
        self._said = None
        with contextlib.suppress(BoardError, DiskError):
            self._power.off()
            if self._tail is not None:
                self._tail.copy()
                self._said = before, self._tail.bytes

    def _reason(self, now: float) -> Literal["late", "left"] | None:
        if self._deadline is None:
            return None
        if self._stopped():
            self._left_at = self._left_at or now
            if self.cut is None and now - self._left_at >= self._patience_s:
                return "left"
        return "late" if now > self._deadline else None
