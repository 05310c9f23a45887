"""console.log: what the board's console printed, from its boot to the end of the run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO

NAME = "console.log"
#: A console that babbles must not fill the disk; what comes after this much is not kept.
MAX_BYTES = 64 << 20
CUT = b"\n[whylate: the console printed more than is kept]\n"
_PIECE = 1 << 16


class ConsoleWriter:
    """Copies what is appended to a console's log, piece by piece; one thread at a time.

    sift: what is kept of a piece, where the log has more than what was printed.
    """

    def __init__(
        self,
        directory: Path,
        sift: Callable[[bytes], bytes] = bytes,
        limit: int = MAX_BYTES,
    ) -> None:
        self._sift = sift
        self._path = directory / NAME
        self._limit = limit
        self._file: IO[bytes] | None = None
        self._read = 0
        self._kept = 0

    def __enter__(self) -> ConsoleWriter:
        """Begin."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the copy."""
        if self._file is not None:
            self._file.close()

    def copy(self, log: Path) -> None:
        """Append what came since the last call. A log or a disk that fails is left alone."""
        with contextlib.suppress(OSError), log.open("rb") as source:
            if source.seek(0, 2) < self._read:
                # The board was switched off and on again: its log began anew.
                self._read = 0
            source.seek(self._read)
            while data := source.read(_PIECE):
                self._read += len(data)
                self._write(self._sift(data))

    def _write(self, data: bytes) -> None:
        if self._kept >= self._limit:
            return
        if self._file is None:
            self._file = self._path.open("xb", buffering=0)
        self._file.write(data[: self._limit - self._kept])
        self._kept += len(data)
        if self._kept >= self._limit:
            self._file.write(CUT)


def read_console(directory: Path) -> bytes | None:
    """Return what a recording has of its console, at most MAX_BYTES; None where it has nothing."""
    path = directory / NAME
    try:
        if path.is_symlink():
            return None
        with path.open("rb") as file:
            return file.read(MAX_BYTES + len(CUT))
    except OSError:
        return None
