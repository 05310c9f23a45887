"""Reading tarballs that others made, as a stream: bounded, and nothing is extracted to disk."""

from __future__ import annotations

import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self, cast

#: What a compressed file begins with, and what it is.
MAGICS = {
    b"\x1f\x8b": "gz",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
}
#: A name with more parts is no file of a system.
MAX_DEPTH = 256
#: A header before a member that holds its name or its attributes; tarfile reads it whole.
_MAX_HEADER = 1 << 20
_HEADERS = frozenset(
    {
        tarfile.XHDTYPE,
        tarfile.XGLTYPE,
        tarfile.SOLARIS_XHDTYPE,
        tarfile.GNUTYPE_LONGNAME,
        tarfile.GNUTYPE_LONGLINK,
    }
)
#: A whole archive is at its end when it is read once or twice more.
_MOST_ENDS = 8
_ERRORS = (
    tarfile.TarError,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    OSError,
    RecursionError,
    ValueError,
    OverflowError,
)


class TarballError(Exception):
    """A tarball cannot be read; one line for the user."""


class _BoundedInfo(tarfile.TarInfo):
    """A member whose headers have a bound."""

    def _proc_member(self, archive: tarfile.TarFile) -> Self:
        if self.size < 0 or (self.type in _HEADERS and self.size > _MAX_HEADER):
            raise tarfile.ReadError(f"a header of {self.size} bytes")
        return cast("Self", super()._proc_member(archive))  # type: ignore[misc]


class _Ending:
    """A stream whose end is an error where tarfile does not stop at it.

    It skips a member by reading as many pieces as its header has, and 2^60 bytes are possible.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._ends = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._ends += not data
        if self._ends > _MOST_ENDS:
            raise EOFError("it ends within a file")
        return data


@contextmanager
def opened_tarball(path: Path) -> Iterator[tarfile.TarFile]:
    """Yield an archive, plain or packed with gzip, xz or zstd, that is read from start to end.

    Raises TarballError, also for what goes wrong while it is read.
    """
    try:
        with path.open("rb") as file:
            packed = packing(file.read(8))
            file.seek(0)
            with tarfile.open(
                fileobj=cast("IO[bytes]", _Ending(_unpacked(file, packed))),
                mode="r|",
                tarinfo=_BoundedInfo,
                encoding="utf-8",
                errors="surrogateescape",
            ) as archive:
                yield archive
    except _ERRORS as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise TarballError(
            f"{path} cannot be read as a tarball: {reason or type(error).__name__}; a packed image "
            "of a file system has to be unpacked first"
        ) from None


def members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """Yield the members one by one; in a list of its own, tarfile would keep all of them."""
    for member in archive:
        archive.members = []  # type: ignore[attr-defined]
        yield member


def member_name(path: Path, name: str) -> str:
    """Return a member's name without a leading slash or dot, "" for the root itself.

    Raises TarballError for a name that leaves the root.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or len(parts) > MAX_DEPTH:
        raise TarballError(f"{path} has a member {name[:80]!r} outside of it: it is not read")
    return "/".join(parts)


def packing(start: bytes) -> str | None:
    """Return how a file is packed, by its first bytes; None: it is not."""
    return next((name for magic, name in MAGICS.items() if start.startswith(magic)), None)


def unpack(packed: bytes, most: int) -> bytes:
    """Return what is packed with gzip, xz or zstd, or is not packed, up to `most` bytes of it.

    Raises TarballError where it is damaged.
    """
    try:
        return _unpacked(io.BytesIO(packed), packing(packed)).read(most)
    except _ERRORS as error:
        raise TarballError(f"it cannot be unpacked: {error}") from None


def _unpacked(file: IO[bytes], packed: str | None) -> IO[bytes]:
    """Return a stream of what is packed: tarfile's own copies what it has ahead at each read."""
    if packed == "gz":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb"))
    if packed == "xz":
        return lzma.LZMAFile(file)
    if packed == "zst":
        # The only library of zstd that is there anyway.
        import pyarrow

        return cast("IO[bytes]", pyarrow.CompressedInputStream(file, "zstd"))
    return file
