"""A pipe that holds what a board sends until it is read."""

from __future__ import annotations

import contextlib
import fcntl
import os

#: Capacity of such a pipe, where the system grants it.
QUEUE_BYTES = 1 << 20


class ByteQueue:
    """A pipe between the thread that drains a line and the one user of its bytes.

    The caller serializes offer() and end().
    """

    def __init__(self) -> None:
        self._out, self._in = os.pipe()
        with contextlib.suppress(OSError):  # the system may not grant that much
            fcntl.fcntl(self._in, fcntl.F_SETPIPE_SZ, QUEUE_BYTES)
        #: Bytes that offer() dropped because they were not read in time.
        self.dropped = 0

    @property
    def ended(self) -> bool:
        """Whether no more bytes are accepted."""
        return self._in < 0

    @property
    def closed(self) -> bool:
        """Whether the reader has closed its end."""
        return self._out < 0

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive, -1 once it is closed."""
        return self._out

    def read(self, size: int) -> bytes:
        """Return what has arrived; empty at the end."""
        return os.read(self._out, size)

    def put(self, data: bytes) -> None:
        """Add data, waiting for room; raises OSError when the reader is gone."""
        while data:
            data = data[os.write(self._in, data) :]

    def offer(self, data: bytes) -> None:
        """Add what there is room for, and count the rest as dropped."""
        if self.ended:
            return
        os.set_blocking(self._in, False)
        try:
            while data:
                data = data[os.write(self._in, data) :]
        except OSError:
            self.dropped += len(data)

    def end(self) -> None:
        """Let the reader see the end once it has read the rest."""
        if self._in >= 0:
            os.close(self._in)
            self._in = -1

    def close(self) -> None:
        """Close the reader's end."""
        if self._out >= 0:
            os.close(self._out)
            self._out = -1
