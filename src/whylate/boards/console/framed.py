"""The stream to a probe that speaks over a serial console."""

from __future__ import annotations

import errno
import select
import time
from collections.abc import Callable

from whylate.boards.console.drain import ConsoleStream, Frames
from whylate.boards.streams.shutdown import LEAVE_S, REQUEST_S, ShutdownRequest

#: The probe ends after this much silence: it cannot see a serial line hang up.
KEEPALIVE_S = 10.0


class FramedConsoleStream:
    """The stream to a probe whose frames share a console with the kernel's messages.

    Reads only what is for the link: the text between the frames goes to the console's log. Ends
    when the board announces that the program has ended. `on_close` runs once it is closed.
    """

    def __init__(
        self,
        stream: ConsoleStream,
        frames: Frames,
        on_close: Callable[[FramedConsoleStream], None],
    ) -> None:
        self._stream = stream
        self._frames = frames
        self._on_close = on_close
        self._shutdown = ShutdownRequest()
        self._closed = False

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes for the link arrive."""
        return self._frames.fileno()

    def read(self, size: int) -> bytes:
        """Return bytes for the link, empty when the program has ended or the line is gone."""
        return self._frames.read(size)

    def write(self, data: bytes) -> None:
        """Send data to the probe; raises OSError when it, or the line, is gone."""
        if self._frames.ended:
            raise BrokenPipeError(errno.EPIPE, "the probe has ended")
        self._shutdown.observe(data)
        self._stream.write(data)

    def close(self) -> None:
        """End the probe, wait until it has restored the board, and return to the shell.

        A probe that misses the shutdown request ends by its keepalive. Where the shell does not
        come back, because the board is dead, the shell's next use reports it.
        """
        if self._closed:
            return
        self._closed = True
        deadline = time.monotonic() + KEEPALIVE_S + LEAVE_S
        try:
            while not self._drained(0.0) and time.monotonic() < deadline:
                self._stream.write(self._shutdown.encode())
                self._drained(REQUEST_S)
        except OSError:
            pass
        self._frames.close()
        self._on_close(self)

    def _drained(self, seconds: float) -> bool:
        """Drop what arrives in that time; return whether the program or the line has ended."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(deadline - time.monotonic(), 0.0)
            if not select.select([self._frames.fileno()], [], [], left)[0]:
                return False
            if not self._frames.read(1 << 16):
                return True
