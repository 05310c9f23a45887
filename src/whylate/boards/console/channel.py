"""The raw bytes of a serial console over any transport."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import time
from typing import Protocol

#: A line that accepts nothing for this long is stuck.
STUCK_S = 10.0


class Channel(Protocol):
    """Bytes of both directions. One thread reads while another writes."""

    def read(self, timeout_s: float) -> bytes:
        """Return what has arrived, empty after timeout_s.

        Raises EOFError or OSError once the other end is gone.
        """

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError where that takes too long."""

    def close(self) -> None:
        """Close the line; no error if it is closed already."""


class HasDescriptor(Protocol):
    """An open file, socket or serial port."""

    def fileno(self) -> int:
        """Return its descriptor."""


class DescriptorChannel:
    """A channel over a descriptor: a pty, a Unix socket, a serial port.

    The channel owns the descriptor, or the file object, and closes it.
    """

    def __init__(self, source: int | HasDescriptor) -> None:
        self._source = source
        self._fd = source if isinstance(source, int) else source.fileno()
        os.set_blocking(self._fd, False)

    def read(self, timeout_s: float) -> bytes:
        """Return what has arrived; raises EOFError, OSError."""
        if not _ready(self._fd, select.POLLIN, timeout_s):
            return b""
        try:
            data = os.read(self._fd, 1 << 16)
        except (BlockingIOError, InterruptedError):
            return b""
        if not data:
            raise EOFError
        return data

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError, also after STUCK_S in which nothing is accepted."""
        view = memoryview(data)
        deadline = time.monotonic() + STUCK_S
        while view:
            try:
                sent = os.write(self._fd, view)
            except (BlockingIOError, InterruptedError):
                sent = 0
            if sent:
                view = view[sent:]
                deadline = time.monotonic() + STUCK_S
                continue
            left = deadline - time.monotonic()
            if left <= 0 or not _ready(self._fd, select.POLLOUT, left):
                raise TimeoutError(errno.ETIMEDOUT, "the line accepts nothing")

    def close(self) -> None:
        """Close the descriptor."""
        if self._fd < 0:
            return
        self._fd = -1
        with contextlib.suppress(OSError):
            if isinstance(self._source, int):
                os.close(self._source)
            elif (close := getattr(self._source, "close", None)) is not None:
                close()


def _ready(fd: int, events: int, timeout_s: float) -> bool:
    poll = select.poll()
    poll.register(fd, events)
    return bool(poll.poll(timeout_s * 1000))
