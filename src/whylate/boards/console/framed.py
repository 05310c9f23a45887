"""The stream to a probe that speaks over a serial console."""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Callable

from whylate.boards.console.drain import ConsoleStream, Frames
from whylate.boards.farewell import ASK_TO_END_S, LEAVE_S, Farewell

#: The probe ends when it has heard nothing for so long: it cannot see a serial line hang up.
KEEPALIVE_S = 10.0


class FramedConsoleStream:
    """The stream to a probe whose frames share a console with the kernel's messages.

    Reads only what is for the link: the text between the frames goes to the console's log. Ends
    when the board says that the program has ended.
    """

    def __init__(
        self, stream: ConsoleStream, frames: Frames, left: Callable[[FramedConsoleStream], None]
    ) -> None:
        self._stream = stream
        self._frames = frames
        self._left = left
        self._farewell = Farewell()
        self._closed = False

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes for the link arrive."""
        return self._frames.fileno()

    def read(self, size: int) -> bytes:
        """Return bytes for the link, empty when the program has ended or the line is gone."""
        return self._frames.read(size)

    def write(self, data: bytes) -> None:
        """Say something to the probe; raises OSError when it, or the line, is gone."""
        if self._frames.ended:
            raise BrokenPipeError(errno.EPIPE, "the probe has ended")
        self._farewell.sent(data)
        self._stream.write(data)

    def close(self) -> None:
        """End the probe, wait until it has put everything back, and return to the shell.

        The probe is told to expect a word within a millisecond, and then gets none. One that
        does not hear even that ends by the keepalive that it was given. Where the shell does not
        come back, because the board is dead, the shell's next use says so.
        """
        if self._closed:
            return
        self._closed = True
        deadline = time.monotonic() + KEEPALIVE_S + LEAVE_S
        try:
            while not self._over() and time.monotonic() < deadline:
                self._stream.write(self._farewell.words())
                self._wait(ASK_TO_END_S)
        except OSError:
            pass
        self._frames.close()
        self._left(self)

    def _over(self) -> bool:
        """Whether the program or the line has ended; what was still to be read is dropped."""
        while select.select([self._frames.fileno()], [], [], 0.0)[0]:
            if not os.read(self._frames.fileno(), 1 << 16):
                return True
        return False

    def _wait(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not self._over() and (left := deadline - time.monotonic()) > 0:
            select.select([self._frames.fileno()], [], [], left)
