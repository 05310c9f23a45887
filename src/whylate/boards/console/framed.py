"""The stream to a probe that speaks over a serial console."""

from __future__ import annotations

import errno
import os
import select
import time
from collections.abc import Callable

from whylate.boards.console.drain import ConsoleStream, Frames
from whylate.wire.frame import FrameDecoder, encode_frame
from whylate.wire.messages import FIRST_CONTROL, Keepalive

#: The probe ends when it has heard nothing for so long: it cannot see a serial line hang up.
KEEPALIVE_S = 10.0
#: A probe looks at its host's silence once in a second at least.
ASK_TO_END_S = 1.5
#: How long it may take to put everything back, besides.
LEAVE_S = 30.0


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
        #: Reads what we send, to know which number the next message has.
        self._sent = FrameDecoder()
        self._last_number = 0
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
        for frame in self._sent.feed(data):
            if frame.kind < FIRST_CONTROL:
                self._last_number = max(self._last_number, frame.number)
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
        told = Keepalive(1)
        try:
            while not self._over() and time.monotonic() < deadline:
                self._stream.write(encode_frame(told.KIND, self._last_number + 1, told.pack()))
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
