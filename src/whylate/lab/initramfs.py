"""Initial RAM file systems in cpio's "newc" format, the same bytes for the same content.

The kernel unpacks several concatenated archives, so that files are added to a finished image by
appending (Documentation/driver-api/early-userspace/buffer-format.rst).
"""

from __future__ import annotations

import stat
from dataclasses import dataclass, field

#: The kernel looks for the next archive at a multiple of this.
ALIGN = 4


@dataclass
class Archive:
    """An archive under construction; directories are made as they are needed."""

    _entries: dict[str, tuple[int, bytes, int]] = field(default_factory=dict)

    def file(self, path: str, data: bytes, mode: int = 0o644) -> None:
        """Add a file; `path` without a leading slash."""
        self._parents(path)
        self._entries[path] = (stat.S_IFREG | mode, data, 0)

    def link(self, path: str, target: str) -> None:
        """Add a symbolic link."""
        self._parents(path)
        self._entries[path] = (stat.S_IFLNK | 0o777, target.encode(), 0)

    def device(self, path: str, major: int, minor: int, mode: int = 0o600) -> None:
        """Add a character device."""
        self._parents(path)
        self._entries[path] = (stat.S_IFCHR | mode, b"", major << 16 | minor)

    def directory(self, path: str, mode: int = 0o755) -> None:
        """Add a directory."""
        self._parents(path)
        self._entries[path] = (stat.S_IFDIR | mode, b"", 0)

    def _parents(self, path: str) -> None:
        parts = path.split("/")[:-1]
        for i in range(1, len(parts) + 1):
            self._entries.setdefault("/".join(parts[:i]), (stat.S_IFDIR | 0o755, b"", 0))

    def pack(self) -> bytes:
        """Return the archive, padded so that another may follow."""
        out = bytearray()
        for number, (path, (mode, data, device)) in enumerate(self._entries.items(), 1):
            _entry(out, number, path, mode, data, device)
        _entry(out, 0, "TRAILER!!!", 0, b"", 0)
        return bytes(out)


def _entry(out: bytearray, number: int, path: str, mode: int, data: bytes, device: int) -> None:
    name = path.encode() + b"\0"
    links = 2 if stat.S_ISDIR(mode) else 1
    fields = (number, mode, 0, 0, links, 0, len(data), 0, 0, device >> 16, device & 0xFFFF,
              len(name), 0)  # fmt: skip
    out += b"070701" + b"".join(b"%08x" % value for value in fields) + name
    out += b"\0" * (-len(out) % ALIGN)
    out += data
    out += b"\0" * (-len(out) % ALIGN)
