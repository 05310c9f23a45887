"""The log of a virtual board's console, kept from filling the disk.

QEMU writes it without a bound. While a whylate holds the board, the middle of a long log is given
back to the file system. Its size stays the same, so that the offsets of QEMU and of readers stay
valid.
"""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

#: The beginning is kept, up to the limit of a recording's own copy, and the end.
HEAD_BYTES = 64 << 20
TAIL_BYTES = 4 << 20
#: Less than this is not worth a system call.
STEP_BYTES = 1 << 20
POLL_S = 1.0
#: A file system frees only whole blocks.
_BLOCK = 1 << 12
#: FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE
_PUNCH_HOLE = 0x01 | 0x02


class BoundedLog:
    """Watches a console's log and frees its middle, in a separate thread."""

    def __init__(self, path: Path, head: int = HEAD_BYTES, tail: int = TAIL_BYTES) -> None:
        self._path = path
        self._head = head
        self._tail = tail
        #: The log's device and inode, and the offset up to which its middle was freed.
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
        """Stop watching; no error if not started."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def free_middle(self) -> None:
        """Free what is neither beginning nor end; raises OSError."""
        with self._path.open("r+b", buffering=0) as log:
            status = os.fstat(log.fileno())
            if (status.st_dev, status.st_ino) != self._file or status.st_size < self._done:
                self._file, self._done = (status.st_dev, status.st_ino), self._head
            end = (status.st_size - self._tail) // _BLOCK * _BLOCK
            if end - self._done >= STEP_BYTES:
                _punch(log.fileno(), self._done, end - self._done)
                self._done = end

    def _watch(self) -> None:
        while not self._stop.wait(POLL_S):
            # There is no log before QEMU runs, and not every file system can punch holes.
            with contextlib.suppress(OSError):
                self.free_middle()


def _punch(fd: int, offset: int, length: int) -> None:
    # Python's posix_fallocate() can only allocate.
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    done = libc.fallocate64(
        ctypes.c_int(fd), ctypes.c_int(_PUNCH_HOLE), ctypes.c_int64(offset), ctypes.c_int64(length)
    )
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
