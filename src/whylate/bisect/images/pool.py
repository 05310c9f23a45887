"""The contents of two roots in one file, each once, from which hybrids are written.

A content is known by its SHA-256, which is checked when it is read from a root and again when it is
copied into a hybrid: what a hybrid holds is what was compared.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Self

from whylate.bisect.images.errors import HybridError
from whylate.bisect.sides.model import Side
from whylate.bisect.sides.tree import CHUNK, Entry
from whylate.files import bytes_text
from whylate.recording.errors import DiskError
from whylate.text import plain

#: Contents that are in memory together, while they are read; a larger one is alone.
_BATCH = 128 << 20
#: The largest content, and all contents of both roots.
MOST_OF_A_FILE = 1 << 30
MOST = 16 << 30


class Pool:
    """The file, removed when it is closed; any thread may read.

    Raises DiskError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        #: Where each content begins, and its size.
        self._at: dict[bytes, tuple[int, int]] = {}
        self._end = 0
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[bytes] = path.open("w+b")
        except OSError as error:
            raise DiskError(f"{path} cannot be made: {error.strerror}") from None

    def add(self, side: Side) -> None:
        """Read the contents of a root that are not here yet.

        Raises SideError, HybridError for a content that cannot be read, and DiskError.
        """
        assert side.tree is not None  # noqa: S101 - of roots
        for batch in self._batches(side):
            contents = side.tree.read(list(batch), MOST_OF_A_FILE)
            for path, digest in batch.items():
                content = contents.pop(path, None)
                if content is None or hashlib.sha256(content).digest() != digest:
                    raise HybridError(
                        f"{side.name}: {plain(path, 200)} cannot be read any more as it was when "
                        "the roots were compared"
                    )
                self._write(digest, content)

    def chunks(self, entry: Entry) -> Iterator[bytes]:
        """Yield the content of a file; raises HybridError where it is not what it was."""
        assert entry.digest is not None  # noqa: S101 - add() has checked
        start, left = self._at[entry.digest]
        sha256 = hashlib.sha256()
        while left:
            chunk = os.pread(self._file.fileno(), min(CHUNK, left), start)
            if not chunk:
                break
            sha256.update(chunk)
            yield chunk
            start, left = start + len(chunk), left - len(chunk)
        if sha256.digest() != entry.digest:
            raise HybridError(f"{self._path} was changed: start again")

    def read(self, entry: Entry) -> bytes:
        """Return the content of a file."""
        return b"".join(self.chunks(entry))

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Remove the file."""
        self.close()

    def _batches(self, side: Side) -> Iterator[dict[str, bytes]]:
        """Yield names of contents that are missing, with their digests."""
        assert side.tree is not None  # noqa: S101 - of roots
        batch: dict[str, bytes] = {}
        sought: set[bytes] = set(self._at)
        size = total = 0
        for path, digest, length in _files(side, side.tree.entries.items()):
            if digest in sought:
                continue
            sought.add(digest)
            total += length
            if self._end + total > MOST:
                raise HybridError(
                    f"{side.name}: both roots have more than {bytes_text(MOST)} of files"
                )
            if batch and size + length > _BATCH:
                yield batch
                batch, size = {}, 0
                # Those that are written count in _end.
                total = length
            batch[path] = digest
            size += length
        if batch:
            yield batch

    def _write(self, digest: bytes, content: bytes) -> None:
        try:
            self._file.seek(self._end)
            self._file.write(content)
            self._file.flush()
        except OSError as error:
            raise DiskError(f"{self._path} cannot be written: {error.strerror}") from None
        self._at[digest] = self._end, len(content)
        self._end += len(content)


def _files(side: Side, entries: Iterable[tuple[str, Entry]]) -> Iterator[tuple[str, bytes, int]]:
    """Yield the names, digests and sizes of files; raises HybridError for one not read."""
    for path, entry in entries:
        if entry.type != "file":
            continue
        if entry.digest is None or entry.size > MOST_OF_A_FILE:
            raise HybridError(
                f"{side.name}: {plain(path, 200)} is too large or cannot be read: no hybrid can "
                "have it"
            )
        yield path, entry.digest, entry.size
