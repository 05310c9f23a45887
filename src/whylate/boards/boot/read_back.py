"""What a board runs, read back from its kernel after a boot."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from whylate.boards.board import Board
from whylate.boards.boot import board_files
from whylate.boards.boot.device_tree import IDENTITY
from whylate.boards.boot.entry import Entry, words_of

_BANNER = re.compile(rb"Linux version (\S{1,100}) \([^\0\n]{1,400}?(#\d[^\0\n]{1,200})\n")
#: The kernel's version in the header of an x86 kernel: Documentation/arch/x86/boot.rst.
_VERSION_AT, _HEADER = 0x20E, b"HdrS"
#: Where a kernel shows the device tree that it uses.
_TREE = "/proc/device-tree"
_MOST_KERNEL = 256 << 20


@dataclass(frozen=True)
class Running:
    """A kernel that runs: its command line, `uname -r` and `uname -v`.

    tree: the identity of its device tree, as of device_tree.identity(); {} if it has none.
    """

    words: tuple[str, ...]
    release: str
    version: str
    tree: Mapping[str, bytes] = field(default_factory=dict)


def running(board: Board) -> Running:
    """Return what a board runs; raises BoardError."""
    line = board_files.read_text(board, "/proc/cmdline") or ""
    release = board_files.run(board, ["uname", "-r"], "reading its kernel's release")
    version = board_files.run(board, ["uname", "-v"], "reading its kernel's version")
    tree = {name: board_files.read(board, f"{_TREE}/{name}") for name in IDENTITY}
    return Running(
        tuple(words_of(line.strip())),
        release.decode("utf-8", "replace").strip(),
        version.decode("utf-8", "replace").strip(),
        {name: value for name, value in tree.items() if value is not None},
    )


def not_in_effect(
    entry: Entry, kernel: str, now: Running, tree: Mapping[str, bytes] | None = None
) -> str:
    """Return what of an entry is not in effect, or "".

    kernel: of kernel_release(); "": any. tree: the identity of its device tree; None: any.
    """
    for word in entry.words:
        if word not in now.words:
            return f"{word} is not on the kernel's command line"
    if kernel and kernel not in (now.release, f"{now.release} {now.version}"):
        return f"the kernel that runs is {now.release}, and the file has {kernel}"
    for name, value in (tree or {}).items():
        if now.tree.get(name) != value:
            return f"the device tree that is in use has another {name} than the file"
    return ""


def kernel_release(data: bytes) -> str:
    """Return the release in a kernel's file, with its version if that is there; "" if unknown."""
    if data[0x202:0x206] == _HEADER:
        at = int.from_bytes(data[_VERSION_AT : _VERSION_AT + 2], "little") + 0x200
        text = data[at : at + 200].split(b"\0")[0].decode("ascii", "replace")
        return text.split(" ")[0]
    if data.startswith(b"\x1f\x8b"):
        try:
            data = zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(data, _MOST_KERNEL)
        except (zlib.error, gzip.BadGzipFile):
            return ""
    banner = _BANNER.search(data)
    if banner is None:
        return ""
    return f"{banner[1].decode('ascii', 'replace')} {banner[2].decode('ascii', 'replace')}"
