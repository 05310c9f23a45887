"""Ctrl-C and its kin, taken as a wish to end in good order."""

from __future__ import annotations

import signal


class Interrupt:
    """The first Ctrl-C, SIGTERM or hang-up ends the run in good order, a second one at once."""

    def __init__(self) -> None:
        self._wanted = False
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            # Who ignores a signal for us (nohup, a shell's background) wants it ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)

    def _take(self, number: int, frame: object) -> None:
        del frame
        signal.signal(number, signal.default_int_handler)
        self._wanted = True

    def wanted(self) -> bool:
        """Whether somebody asked for the end."""
        return self._wanted
