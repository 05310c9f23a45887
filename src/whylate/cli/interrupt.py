"""Ctrl-C, SIGTERM and hang-up: end in good order."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from types import FrameType


class EndedBySignal(SystemExit):
    """SIGTERM or a hang-up: everything is released on the way out, as after Ctrl-C.

    The exit status is a shell's for that signal. It is a SystemExit because nothing up to main()
    catches that as an error, event loops included.
    """

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


def unwind_when_ended() -> None:
    """Let SIGTERM and SIGHUP raise EndedBySignal; by default they end the process at once.

    Further ones are ignored: a closed terminal hangs up twice, which must not interrupt the
    restoring of a board. Ctrl-C still does.
    """
    ended = False

    def end(number: int, frame: object) -> None:
        nonlocal ended
        del frame
        if not ended:
            ended = True
            raise EndedBySignal(number)

    _handle((signal.SIGTERM, signal.SIGHUP), end)


def _handle(numbers: Iterable[int], handler: Callable[[int, FrameType | None], object]) -> None:
    """Handle signals; one ignored by the parent (nohup, a background shell) stays ignored."""
    for number in numbers:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


class Interrupt:
    """The first Ctrl-C, SIGTERM or hang-up ends a run in good order, a second one at once."""

    def __init__(self) -> None:
        self._wanted = False
        _handle((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), self._end)

    def _end(self, number: int, frame: object) -> None:
        del frame
        signal.signal(number, signal.default_int_handler)
        self._wanted = True

    def wanted(self) -> bool:
        """Return whether the end was asked for."""
        return self._wanted
