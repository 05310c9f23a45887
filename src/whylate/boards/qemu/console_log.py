"""The log of a virtual board's console, kept from filling the disk.

QEMU writes it and knows no bound. As long as a whylate has the board, the middle of a log that
grew too long is given back to the file system: its size stays what it was, so that QEMU writes on
where it was and nobody who reads it loses his place.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

#: The beginning is kept, as long as a recording's own copy may be, and the end.
HEAD_BYTES = 64 << 20
TAIL_BYTES = 4 << 20
#: Less than this is not worth the call.
STEP_BYTES = 1 << 20
LOOK_S = 1.0
#: A file system gives back whole blocks alone.
_BLOCK = 1 << 12
#: FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
_PUNCH_HOLE = 0x01 | 0x02


class BoundedLog:
    """Watches a console's log and gives back its middle; from a thread of its own."""

    def __init__(self, path: Path, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._path = path
        self._head = head
        self._tail = tail
        #: The log whose middle is given back, and up to where that was done.
        self._file: tuple[int, int] = (0, 0)
        self._done = head
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to watch."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._watch, name="console-log", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Watch no longer; not watching is no error."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def give_back(self) -> None:
        """Give back what is neither beginning nor end; raises OSError."""
        with self._path.open("r+b", buffering=0) as log:
            found = os.fstat(log.fileno())
            if (found.st_dev, found.st_ino) != self._file or found.st_size < self._done:
                self._file, self._done = (found.st_dev, found.st_ino), self._head
            end = (found.st_size - self._tail) // _BLOCK * _BLOCK
            if end - self._done >= STEP_BYTES:
                _punch(log.fileno(), self._done, end - self._done)
                self._done = end

    def _watch(self) -> None:
        while not self._stop.wait(LOOK_S):
            # There is none before QEMU runs; not every file system can give back a part.
            with contextlib.suppress(OSError):
                self.give_back()


def _punch(fd: int, offset: int, length: int) -> None:
    # Python's posix_fallocate() can only take.
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.fallocate64(
        ctypes.c_int(fd), ctypes.c_int(_PUNCH_HOLE), ctypes.c_int64(offset), ctypes.c_int64(length)
    )
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
