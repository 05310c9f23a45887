"""A file that somebody else still writes, read as a stream."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

#: How often the file is looked at.
LOOK_S = 0.02
_PIECE = 1 << 16


class FileStream:
    """What is appended to a file, as it comes, until its writer is gone.

    The writer never waits for us: it writes to the file, whether we read or not. `writing` says
    whether there may be more; `closing` is called once when the stream is closed.
    """

    def __init__(
        self, path: Path, writing: Callable[[], bool], closing: Callable[[], None]
    ) -> None:
        self._path = path
        self._writing = writing
        self._closing: Callable[[], None] | None = closing
        self._out, self._in = os.pipe()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"follow-{path.name}")
        self._thread.daemon = True
        self._thread.start()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""
        return self._out

    def read(self, size: int) -> bytes:
        """Return what has arrived; empty once the writer is gone and all was read."""
        return os.read(self._out, size)

    def write(self, data: bytes) -> None:
        """Drop it: nothing goes in here, and what a link acknowledges need not be heard."""

    def close(self) -> None:
        """Let go of the writer and of the file."""
        closing, self._closing = self._closing, None
        if closing is None:
            return
        self._stop.set()
        os.close(self._out)
        self._thread.join()
        closing()

    def _follow(self) -> None:
        with contextlib.suppress(OSError), self._path.open("rb", buffering=0) as file:
            while not self._stop.is_set():
                # Asked before reading: what is written after a no does not exist.
                more = self._writing()
                if data := file.read(_PIECE):
                    os.write(self._in, data)
                elif more:
                    self._stop.wait(LOOK_S)
                else:
                    break
        os.close(self._in)
