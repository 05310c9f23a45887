"""Ctrl-C and its kin, taken as a wish to end in good order."""

from __future__ import annotations

import signal


class EndedBySignal(SystemExit):
    """SIGTERM or a hang-up: all that is held is left on the way out, as after Ctrl-C.

    The exit status is a shell's for that signal. It is a SystemExit because nothing between here
    and main() takes one for an error of its own, event loops included.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


def unwind_when_ended() -> None:
    """Let SIGTERM and SIGHUP raise EndedBySignal: without that they end us on the spot.

    One that follows is not heard any more: a terminal that goes hangs up twice, and leaving a
    board as it was found must not be cut short by that. Ctrl-C still does.
    """
    ended = False

    def end(number: int, frame: object) -> None:
        nonlocal ended
        del frame
        if not ended:
            ended = True
            raise EndedBySignal(number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        # Who ignores a signal for us (nohup, a shell's background) wants it ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)


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
