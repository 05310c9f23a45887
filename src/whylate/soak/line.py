"""The line to the probe of a cycle, which another thread can end without the board's help."""

from __future__ import annotations

import os
import threading
from dataclasses import replace

from whylate.boards.board import StartedProbe
from whylate.probe.client import Stream


class CycleLine:
    """Ends the stream to a probe, also one that begins later; any thread may call end()."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: _EndableStream | None = None
        self._ended = False

    def over(self, started: StartedProbe) -> StartedProbe:
        """Return a probe whose stream ends when the line does."""
        stream = _EndableStream(started.stream)
        with self._lock:
            self._stream = stream
            if self._ended:
                stream.end()
        return replace(started, stream=stream)

    def end(self) -> None:
        """End the stream: whoever reads it sees its end, and closes it."""
        with self._lock:
            self._ended = True
            if self._stream is not None:
                self._stream.end()


class _EndableStream:
    """Implements whylate.probe.client.Stream; end() makes it readable, and it is then at its end.

    The stream below is left to its only user, who closes it.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._ended = False
        self._open = True
        #: Readable from the beginning: nobody writes to its other end.
        self._at_end, writer = os.pipe2(os.O_CLOEXEC)
        os.close(writer)

    def end(self) -> None:
        self._ended = True

    def fileno(self) -> int:
        return self._at_end if self._ended else self._stream.fileno()

    def read(self, size: int) -> bytes:
        return b"" if self._ended else self._stream.read(size)

    def write(self, data: bytes) -> None:
        if self._ended:
            raise BrokenPipeError("the soak ended the connection")
        self._stream.write(data)

    def last_words(self) -> bytes | str:
        """Return why it ended, where that is known."""
        if self._ended:
            return "the soak ended the connection"
        words = getattr(self._stream, "last_words", None)
        last = words() if callable(words) else ""
        return last if isinstance(last, bytes) else str(last)

    def close(self) -> None:
        with self._lock:
            if self._open:
                self._open = False
                os.close(self._at_end)
        self._stream.close()
