"""Initial RAM file systems in cpio's "newc" format, the same bytes for the same content.

The kernel unpacks several concatenated archives, so that files are added to a finished image by
appending (Documentation/driver-api/early-userspace/buffer-format.rst).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

#: The kernel looks for the next archive at a multiple of this.
ALIGN = 4


class _Entry(NamedTuple):
    """What a name stands for. first: the file of which it is a hard link, "" for others."""

    mode: int
    data: bytes = b""
    owner: tuple[int, int] = (0, 0)
    device: tuple[int, int] = (0, 0)
    first: str = ""


@dataclass
class Archive:
    """An archive under construction; directories are made as they are needed.

    Names have no leading slash, and are bytes where they are no UTF-8 (os.fsencode).
    """

    _entries: dict[str, _Entry] = field(default_factory=dict)
    #: Names of each file that has several, in order.
    _links: dict[str, list[str]] = field(default_factory=dict)

    def file(
        self, path: str, data: bytes, mode: int = 0o644, owner: tuple[int, int] = (0, 0)
    ) -> None:
        """Add a file."""
        self._add(path, _Entry(stat.S_IFREG | mode, data, owner))

    def hard_link(self, path: str, first: str) -> bool:
        """Add another name of a file that is there; return False, and add none, where it is not."""
        linked = self._entries.get(first)
        if linked is None or not stat.S_ISREG(linked.mode) or path == first:
            return False
        self._add(path, linked._replace(data=b"", first=linked.first or first))
        self._links.setdefault(linked.first or first, []).append(path)
        return True

    def link(self, path: str, target: str, owner: tuple[int, int] = (0, 0)) -> None:
        """Add a symbolic link."""
        self._add(path, _Entry(stat.S_IFLNK | 0o777, os.fsencode(target), owner))

    def device(self, path: str, major: int, minor: int, mode: int = 0o600) -> None:
        """Add a character device."""
        self.node(path, stat.S_IFCHR | mode, (major, minor))

    def node(
        self,
        path: str,
        mode: int,
        device: tuple[int, int] = (0, 0),
        owner: tuple[int, int] = (0, 0),
    ) -> None:
        """Add a device or a pipe; its type is in the mode."""
        self._add(path, _Entry(mode, b"", owner, device))

    def directory(self, path: str, mode: int = 0o755, owner: tuple[int, int] = (0, 0)) -> None:
        """Add a directory."""
        self._add(path, _Entry(stat.S_IFDIR | mode, owner=owner))

    def _add(self, path: str, entry: _Entry) -> None:
        self._parents(path)
        self._forget(path)
        self._entries[path] = entry

    def _forget(self, path: str) -> None:
        """Drop a name that is replaced; what was linked to it keeps its content."""
        before = self._entries.get(path)
        names = self._links.pop(path, [])
        if before is None:
            return
        if before.first:
            self._links[before.first].remove(path)
        elif names:
            self._entries[names[0]] = before
            for name in names[1:]:
                self._entries[name] = self._entries[name]._replace(first=names[0])
            self._links[names[0]] = names[1:]

    def _parents(self, path: str) -> None:
        parts = path.split("/")[:-1]
        for i in range(1, len(parts) + 1):
            self._entries.setdefault("/".join(parts[:i]), _Entry(stat.S_IFDIR | 0o755))

    def pack(self) -> bytes:
        """Return the archive, padded so that another may follow."""
        out = bytearray()
        numbers: dict[str, int] = {}
        # A hard link comes behind the name that has the content.
        ordered = sorted(self._entries.items(), key=lambda item: bool(item[1].first))
        for number, (path, entry) in enumerate(ordered, 1):
            numbers[path] = numbers.get(entry.first, number)
            names = len(self._links.get(entry.first or path, ())) + 1
            _write(out, numbers[path], path, entry, names)
        _write(out, 0, "TRAILER!!!", _Entry(0), 1)
        return bytes(out)


def _write(out: bytearray, number: int, path: str, entry: _Entry, names: int) -> None:
    name = os.fsencode(path) + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else names
    fields = (number, entry.mode, *entry.owner, links, 0, len(entry.data), 0, 0, *entry.device,
              len(name), 0)  # fmt: skip
    out += b"070701" + b"".join(b"%08x" % value for value in fields) + name
    out += b"\0" * (-len(out) % ALIGN)
    out += entry.data
    out += b"\0" * (-len(out) % ALIGN)


def packed(files: Iterable[tuple[str, bytes, int]]) -> bytes:
    """Return an archive of files with their content and mode, to append to an image."""
    archive = Archive()
    for path, data, mode in files:
        archive.file(path.lstrip("/"), data, mode)
    return archive.pack()
