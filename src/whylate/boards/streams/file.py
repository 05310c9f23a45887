"""A file that is still being written, read as a stream."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

from whylate.boards.streams.queue import ByteQueue

#: How often the file is checked.
POLL_S = 0.02
_PIECE = 1 << 16


class FileStream:
    """What is appended to a file, as it comes, until its writer is gone.

    The writer never waits for us: it writes to the file, whether we read or not. `writing`
    returns whether more may follow; `on_close` is called once when the stream is closed.
    """

    def __init__(
        self, path: Path, writing: Callable[[], bool], on_close: Callable[[], None]
    ) -> None:
        self._path = path
        self._writing = writing
        self._on_close = on_close
        self._queue = ByteQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"follow-{path.name}")
        self._thread.daemon = True
        self._thread.start()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""
        return self._queue.fileno()

    def read(self, size: int) -> bytes:
        """Return what has arrived; empty once the writer is gone and all was read."""
        return self._queue.read(size)

    def write(self, data: bytes) -> None:
        """Drop it: the board has no input, and needs no acknowledgements."""

    def close(self) -> None:
        """Stop following the file."""
        if self._queue.closed:
            return
        self._stop.set()
        self._queue.close()
        self._thread.join()
        self._on_close()

    def _follow(self) -> None:
        with contextlib.suppress(OSError), self._path.open("rb", buffering=0) as file:
            while not self._stop.is_set():
                # Checked before reading: after a "no" nothing more is written.
                more = self._writing()
                if data := file.read(_PIECE):
                    self._queue.put(data)
                elif more:
                    self._stop.wait(POLL_S)
                else:
                    break
        self._queue.end()
