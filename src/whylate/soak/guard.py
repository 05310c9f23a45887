"""End what a soak waits for when a stage exceeds its time: its connection, or the board's power."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Literal

from whylate.boards.board import Power
from whylate.boards.errors import BoardError
from whylate.recording.errors import DiskError
from whylate.soak.console import ConsoleTail

#: The time between checks, and copies of the console; while a board boots they are its time stamps.
LOOK_S = 0.1
STAMP_S = 0.01
#: The power is cut again after this long if the stage still does not end.
AGAIN_S = 15.0
#: A stage whose connection was ended is over after this, or the power is cut.
HANG_UP_S = 30.0


class Guard:
    """A thread that copies the console and cuts the power at a time limit, or when the user leaves.

    The call that waits for the board then fails, and returns.
    """

    def __init__(self, power: Power, tail: ConsoleTail | None, stopped: Callable[[], bool]) -> None:
        self._power = power
        self._tail = tail
        self._stopped = stopped
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._deadline: float | None = None
        self._patience_s = 0.0
        self._hang_up: Callable[[], None] | None = None
        self._hang_up_s = HANG_UP_S
        self._left_at: float | None = None
        #: Whether the board boots, so that what its console prints gets closer time stamps.
        self.booting = True
        #: Why the power was cut; None: it was not.
        self.cut: Literal["late", "left"] | None = None
        #: Whether a stage exceeded its time, and its connection was ended.
        self.hung_up = False
        #: Bytes that the console had printed before and after the last cut.
        self._printed: tuple[int, int] | None = None
        self._thread = threading.Thread(target=self._watch, name="soak-guard", daemon=True)

    def __enter__(self) -> Guard:
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop watching."""
        self._end.set()
        self._thread.join()

    def stage(
        self,
        limit_s: float,
        patience_s: float,
        hang_up: Callable[[], None] | None = None,
        hang_up_s: float = HANG_UP_S,
    ) -> None:
        """Begin a stage that may last `limit_s`, and `patience_s` once the user wants to leave.

        hang_up: ends the stage at its limit; the power is cut only where it is not over `hang_up_s`
        after that.
        """
        with self._lock:
            self._deadline = time.monotonic() + limit_s
            self._patience_s = patience_s
            self._hang_up, self._hang_up_s = hang_up, hang_up_s

    def over(self) -> None:
        """End the last stage: nothing is cut from here on, not even halfway."""
        with self._lock:
            self._deadline = None

    def living(self, printed: int) -> int:
        """Return how much of what was printed came from a board with power.

        If the console went on after the cut, the cut had no effect.
        """
        before, after = self._printed or (printed, printed)
        return min(printed, before) if printed <= after else printed

    def _watch(self) -> None:
        while not self._end.wait(STAMP_S if self.booting else LOOK_S):
            if self._tail is not None:
                # The next write to the disk reports its errors.
                with contextlib.suppress(DiskError):
                    self._tail.copy()
            with self._lock:
                reason = self._reason(time.monotonic())
                if reason == "late" and self._hang_up is not None:
                    self._hang_up()
                    self._hang_up = None
                    self.hung_up = True
                    self._deadline = time.monotonic() + self._hang_up_s
                elif reason is not None:
                    self.cut = self.cut or reason
                    self._cut_it()
                    self._deadline = time.monotonic() + AGAIN_S

    def _cut_it(self) -> None:
        before = self._tail.bytes if self._tail is not None else 0
        self._printed = None
        with contextlib.suppress(BoardError, DiskError):
            self._power.off()
            if self._tail is not None:
                self._tail.copy()
                self._printed = before, self._tail.bytes

    def _reason(self, now: float) -> Literal["late", "left"] | None:
        if self._deadline is None:
            return None
        if self._stopped():
            self._left_at = self._left_at or now
            if self.cut is None and now - self._left_at >= self._patience_s:
                return "left"
        return "late" if now > self._deadline else None
