"""Columns of a recording that is too long for memory, in a temporary file.

Parquet is read once, in order. What statistics look at again and again (a quantile's interval takes
a pass over all rows) is kept uncompressed, and read with pread(2): pages of the file are the
system's cache, and not the process's memory, as those of a mapping would be.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import DiskError

#: Where /tmp may be memory, this is a disk (file-hierarchy(7)). TMPDIR goes before it.
_FOLDER = Path("/var/tmp")  # noqa: S108 (files there get names that nobody can guess)


@dataclass(frozen=True)
class Column:
    """A column of one CPU in a file: `rows` values from byte `offset` on."""

    file: ColumnFile
    offset: int
    rows: int
    kind: np.dtype[Any]

    def write(self, first: int, values: NDArray[Any]) -> None:
        """Write values from row `first` on; raises DiskError."""
        data = np.ascontiguousarray(values, self.kind)
        self.file.write(self.offset + first * self.kind.itemsize, data.data.cast("B"))

    def read(self, first: int, end: int) -> NDArray[Any]:
        """Return rows first to end - 1, a new array; raises DiskError."""
        values = np.empty(end - first, self.kind)
        self.file.read(self.offset + first * self.kind.itemsize, values.data.cast("B"))
        return values


class ColumnFile:
    """A temporary file without a name: it is gone when nothing uses it any more."""

    def __init__(self) -> None:
        chosen = "TMPDIR" in os.environ or not _FOLDER.is_dir()
        self._folder = Path(tempfile.gettempdir()) if chosen else _FOLDER
        try:
            self._fd, name = tempfile.mkstemp(dir=self._folder)
            Path(name).unlink()
        except OSError as error:
            raise self._failed(error) from None
        weakref.finalize(self, os.close, self._fd)
        self._end = 0

    def column(self, rows: int, kind: Any) -> Column:
        """Return a new column."""
        column = Column(self, self._end, rows, np.dtype(kind))
        self._end += rows * column.kind.itemsize
        return column

    def write(self, offset: int, data: memoryview) -> None:
        """Write all of data; raises DiskError."""
        try:
            while data:
                written = os.pwrite(self._fd, data, offset)
                data, offset = data[written:], offset + written
        except OSError as error:
            raise self._failed(error) from None

    def read(self, offset: int, data: memoryview) -> None:
        """Fill data; raises DiskError."""
        try:
            while data:
                count = os.preadv(self._fd, [data], offset)
                if not count:
                    raise DiskError(f"a temporary file in {self._folder} was cut")
                data, offset = data[count:], offset + count
        except OSError as error:
            raise self._failed(error) from None

    def _failed(self, error: OSError) -> DiskError:
        why = os.strerror(error.errno or 0)
        return DiskError(
            f"a temporary file in {self._folder} failed ({why}): a long recording needs up to "
            "20 bytes an activation there, of a program 60; make room, or set TMPDIR to another "
            "folder"
        )
