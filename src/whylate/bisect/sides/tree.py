"""A tree of files, whatever it was read from; nothing of it is ever extracted to disk.

Names are bytes, kept as str with surrogates for what is not UTF-8 (os.fsdecode).
"""

from __future__ import annotations

import hashlib
import posixpath
import re
import stat
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Literal, NamedTuple

Type = Literal["file", "directory", "link", "device", "socket", "fifo"]
#: What the type in a mode stands for.
TYPES: dict[int, Type] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "directory",
    stat.S_IFLNK: "link",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
    stat.S_IFSOCK: "socket",
    stat.S_IFIFO: "fifo",
}
#: More files are no root file system.
MAX_ENTRIES = 2_000_000
#: The content of larger files is not read.
MAX_FILE = 4 << 30
#: All contents together: what unpacks to more is a bomb.
MAX_TOTAL = 64 << 30
#: Contents that are kept in memory: of one file, and of all.
MAX_KEPT = 16 << 20
MAX_ALL_KEPT = 256 << 20
CHUNK = 1 << 18

#: Files whose content tells what a root has. A link among them is followed by nobody.
KEPT = re.compile(
    r"boot/config-[^/]+"
    r"|(boot/|boot/firmware/)?(cmdline\.txt|extlinux/extlinux\.conf)"
    r"|var/lib/dpkg/(status|status\.d/[^/]+|info/[^/]+\.(list|md5sums))"
    r"|(usr/lib|var/lib)/opkg/(status|info/[^/]+\.list)"
)


class Entry(NamedTuple):
    """One name in a tree.

    digest: the SHA-256 of a file's content; None if it was not read. target: of a link, "" of
    others. device: numbers of a device, (0, 0) of others; block: it is a block device.
    """

    type: Type
    mode: int
    uid: int
    gid: int
    size: int = 0
    digest: bytes | None = None
    target: str = ""
    device: tuple[int, int] = (0, 0)
    block: bool = False


@dataclass(frozen=True)
class Tree:
    """Names below a root, without a leading slash.

    kept: contents of the files of KEPT. read: returns the contents of files of at most so many
    bytes each, without those that cannot be read; it raises SideError. unread: how many
    contents were not read, by reason. links: of each file with several names, the first of them by
    each.
    """

    entries: Mapping[str, Entry]
    kept: Mapping[str, bytes]
    read: Callable[[Sequence[str], int], dict[str, bytes]]
    unread: Mapping[str, int] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)

    def resolve(self, path: str) -> str:
        """Return where a name of a package's list lies: through a link at the top, such as lib."""
        first, slash, rest = path.partition("/")
        entry = self.entries.get(first)
        if not slash or entry is None or entry.type != "link":
            return path
        target = posixpath.normpath(entry.target.lstrip("/"))
        return path if target.startswith("..") else f"{target}/{rest}"

    def below(self, directory: str) -> Iterator[str]:
        """Yield the names that lie directly in a directory."""
        prefix = f"{directory}/"
        for path in self.entries:
            if path.startswith(prefix) and "/" not in path[len(prefix) :]:
                yield path[len(prefix) :]


def links_of(names: Iterable[tuple[str, Hashable]]) -> dict[str, str]:
    """Return the first name of each file that has several, by each of its names.

    names: of files, each with what identifies the file.
    """
    files: dict[Hashable, list[str]] = {}
    for name, file in names:
        files.setdefault(file, []).append(name)
    return {name: min(several) for several in files.values() if len(several) > 1
            for name in several}  # fmt: skip


@dataclass
class Collected:
    """Bounds what is read of a tree, and keeps the contents of KEPT."""

    kept: dict[str, bytes] = field(default_factory=dict)
    unread: dict[str, int] = field(default_factory=dict)
    _kept_bytes: int = 0

    def digest(self, path: str, size: int, chunks: Iterable[bytes]) -> bytes:
        """Return the SHA-256 of a content, and keep the content of a file of KEPT."""
        parts: list[bytes] | None = None
        if size <= MAX_KEPT and self._kept_bytes + size <= MAX_ALL_KEPT and KEPT.fullmatch(path):
            parts = []
        sha256 = hashlib.sha256()
        for chunk in chunks:
            sha256.update(chunk)
            if parts is not None:
                parts.append(chunk)
        if parts is not None:
            self.kept[path] = b"".join(parts)
            self._kept_bytes += len(self.kept[path])
        return sha256.digest()

    def leave(self, reason: str) -> None:
        """Count a content that is not read."""
        self.unread[reason] = self.unread.get(reason, 0) + 1


def chunks_of(file: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield at most `size` bytes of a file in pieces."""
    while size > 0 and (chunk := file.read(min(CHUNK, size))):
        size -= len(chunk)
        yield chunk
