"""Boards that share a supply are switched on one after the other.

A board draws most current at power-on, and a bench's supply is sized for boards that run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

from whylate.boards.errors import BoardError
from whylate.boards.state import state_directory
from whylate.files import try_lock

#: Time between two boards that are switched on.
SETTLE_S = 1.0
#: The lock is held to switch on one board: longer than this means that its holder hangs.
PATIENCE_S = 120.0
_POLL_S = 0.05


class PowerSequencer:
    """Switches on one board at a time, and the next one when the supply has settled.

    Across all threads of this process, and all processes of this user on this host.
    `settle_s`: from the end of one on() to the beginning of the next.
    """

    def __init__(self, settle_s: float = SETTLE_S, directory: Path | None = None) -> None:
        self._settle_s = settle_s
        self._directory = directory
        self._lock = threading.Lock()

    def switch_on(self, on: Callable[[], None], patience_s: float = PATIENCE_S) -> float:
        """Call `on` when it is this caller's turn; return for how many seconds that was awaited.

        Raises BoardError after patience_s.
        """
        began = time.monotonic()
        deadline = began + patience_s
        if not self._lock.acquire(timeout=patience_s):
            raise BoardError(_stuck(patience_s))
        try:
            fd = self._turn(deadline, patience_s)
            try:
                time.sleep(self._rest(fd))
                awaited_s = time.monotonic() - began
                try:
                    on()
                finally:
                    # Also after a failure: the relay may have closed nevertheless.
                    os.pwrite(fd, f"{_now():020.6f}".encode(), 0)
            finally:
                os.close(fd)
        finally:
            self._lock.release()
        return awaited_s

    @property
    def settle_s(self) -> float:
        """Time between two boards that are switched on, s."""
        return self._settle_s

    def _turn(self, deadline: float, patience_s: float) -> int:
        directory = self._directory or state_directory("power")
        try:
            fd = os.open(
                directory / "last-on", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
        except OSError as error:
            raise BoardError(f"{directory} cannot be written: {error.strerror}") from None
        while True:
            if try_lock(fd):
                return fd
            if time.monotonic() > deadline:
                os.close(fd)
                raise BoardError(_stuck(patience_s))
            time.sleep(_POLL_S)

    def _rest(self, fd: int) -> float:
        """Return the seconds that the supply still needs to settle."""
        try:
            passed = _now() - float(os.pread(fd, 20, 0))
        except ValueError:
            return 0.0
        # The file may be older than this boot of the host.
        return self._settle_s - passed if 0 <= passed < self._settle_s else 0.0


def _now() -> float:
    """Return a time that all processes of this host share and that is never set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _stuck(patience_s: float) -> str:
    return (
        f"another whylate has been switching a board on for {patience_s:g} s: "
        "its supply does not answer"
    )


#: That of this process.
SEQUENCER = PowerSequencer()
