"""Reads a tree from a tarball as a stream; raises SideError for what is no root file system."""

from __future__ import annotations

import gzip
import lzma
import tarfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Self, cast

from whylate.bisect.sides.errors import SideError
from whylate.bisect.sides.tree import (
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_FILE,
    MAX_TOTAL,
    Collected,
    Entry,
    Tree,
    Type,
    chunks_of,
)

#: What a compressed file begins with, and what it is.
MAGICS = {
    b"\x1f\x8b": "gz",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zst",
}
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
_TYPES: dict[bytes, Type] = {
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "link",
    tarfile.CHRTYPE: "device",
    tarfile.BLKTYPE: "device",
    tarfile.FIFOTYPE: "fifo",
}
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


def read_tarball(path: Path) -> Tree:
    """Return the tree of a tarball, plain or packed with gzip, xz or zstd; raises SideError.

    A member that a later one of the same name replaces is left out, as when it is unpacked.
    """
    collected = Collected()
    entries: dict[str, Entry] = {}
    total = 0
    with _opened(path) as archive:
        for member in archive:
            name = member_name(path, member.name)
            # In a list of its own, tarfile keeps every member that it has read.
            archive.members = []  # type: ignore[attr-defined]
            total += member.size if member.isreg() and member.size <= MAX_FILE else 0
            if total > MAX_TOTAL or len(entries) > MAX_ENTRIES:
                raise SideError(
                    f"{path} holds more than {MAX_ENTRIES:,} files or {MAX_TOTAL >> 30} GiB: it is "
                    "no root file system"
                )
            if name:
                entries[name] = _entry(path, archive, member, entries, collected)
    if not entries:
        raise SideError(f"{path} holds no file: name the tarball of a root file system")

    def read(paths: Sequence[str], most: int) -> dict[str, bytes]:
        return _read(path, frozenset(paths), most)

    return Tree(entries, collected.kept, read, collected.unread)


def member_name(path: Path, name: str) -> str:
    """Return a member's name without a leading slash or dot, "" for the root itself.

    Raises SideError for a name that leaves the root.
    """
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or len(parts) > MAX_DEPTH:
        raise SideError(f"{path} has a member {name[:80]!r} outside of it: it is not read")
    return "/".join(parts)


def _entry(
    path: Path,
    archive: tarfile.TarFile,
    member: tarfile.TarInfo,
    entries: dict[str, Entry],
    collected: Collected,
) -> Entry:
    bare = Entry("file", member.mode & 0o7777, member.uid, member.gid)
    if member.islnk():
        linked = entries.get(member_name(path, member.linkname))
        if linked is None:
            collected.leave("a hard link to nothing")
        return linked or bare
    if not member.isreg():
        kind = _TYPES.get(member.type, "file")
        device = (member.devmajor, member.devminor) if kind == "device" else (0, 0)
        target = member.linkname if kind == "link" else ""
        return bare._replace(type=kind, target=target, device=device)
    content = archive.extractfile(member) if member.size <= MAX_FILE else None
    if content is None:
        collected.leave("too large")
        return bare._replace(size=member.size)
    name = member_name(path, member.name)
    digest = collected.digest(name, member.size, chunks_of(content, member.size))
    return bare._replace(size=member.size, digest=digest)


def _read(path: Path, wanted: frozenset[str], most: int) -> dict[str, bytes]:
    """Return the contents of small members; of hard links the content of their targets."""
    contents: dict[str, bytes] = {}
    targets: dict[str, str] = {}
    if not wanted:
        return contents
    for again in (False, True):
        sought = (wanted | frozenset(targets.values())) if again else wanted
        with _opened(path) as archive:
            for member in archive:
                archive.members = []  # type: ignore[attr-defined]
                name = member_name(path, member.name)
                if name not in sought:
                    continue
                if member.islnk():
                    targets[name] = member_name(path, member.linkname)
                elif member.isreg() and member.size <= most:
                    content = archive.extractfile(member)
                    contents[name] = b"" if content is None else content.read(most)
        if all(target in contents for target in targets.values()):
            break
    for name, target in targets.items():
        if target in contents:
            contents[name] = contents[target]
    return {name: content for name, content in contents.items() if name in wanted}


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    """Yield an archive that is read from start to end; raises SideError."""
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
        raise SideError(
            f"{path} cannot be read as a tarball: {reason or type(error).__name__}; a packed image "
            "of a file system has to be unpacked first"
        ) from None


def packing(start: bytes) -> str | None:
    """Return how a file is packed, by its first bytes; None: it is not."""
    return next((name for magic, name in MAGICS.items() if start.startswith(magic)), None)


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
