"""Data as it is sent over a console: compressed, and kept for the next boot.

A probe takes up to a second to compress, and each boot of a board with a console needs it. The
result is kept in the lab's cache. Each use unpacks it and compares it with the data, which takes
30 ms. A cache that cannot be used costs only the time to compress.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import lzma
import os
import re
import stat
from pathlib import Path
from typing import Literal

from whylate.files import read_bounded, write_whole
from whylate.lab.cache import cache_directory

#: Tools that unpack, by the names that they have on a board.
Tool = Literal["xz", "gzip"]

#: Small boards have the memory to unpack with this dictionary.
DICTIONARY = 1 << 20
#: Smaller data is compressed faster than a file is written and synced.
SMALLEST_KEPT = 64 << 10
#: Bytes that all kept files take together.
LIMIT_BYTES = 64 << 20
_CHECK = lzma.CHECK_CRC32
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9, "dict_size": DICTIONARY}]
#: Memory to unpack: less than twice the dictionary needs.
_UNPACK_BYTES = DICTIONARY * 3 // 2
#: Names of kept files, and of those that a killed process has not finished.
_NAME = re.compile(r"[0-9a-f]{64}\.xz(\.[0-9a-f]{8}\.partial)?")


def pack(data: bytes, tool: Tool) -> bytes:
    """Return data compressed for a tool of the board; large data for xz may come from the cache."""
    if tool == "gzip":
        return gzip.compress(data, mtime=0)
    if len(data) < SMALLEST_KEPT:
        return _compress(data)
    try:
        directory = cache_directory() / "packed"
    except RuntimeError:
        # The user has no home.
        return _compress(data)
    parameters = hashlib.sha256(repr((_CHECK, _FILTERS)).encode())
    path = directory / f"{hashlib.sha256(parameters.digest() + data).hexdigest()}.xz"
    with contextlib.suppress(OSError):
        packed = _read(path)
        if _unpacks_to(packed, data):
            # The least recently used is removed first.
            with contextlib.suppress(OSError):
                os.utime(path)
            return packed
    packed = _compress(data)
    with contextlib.suppress(OSError):
        _keep(path, packed)
    return packed


def _compress(data: bytes) -> bytes:
    return lzma.compress(data, check=_CHECK, filters=_FILTERS)


def _read(path: Path) -> bytes:
    """Return a kept file; raises OSError. A pipe would have no end, a link may lead to one."""
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError
    return read_bounded(path, LIMIT_BYTES)


def _unpacks_to(packed: bytes, data: bytes) -> bool:
    """Return whether a board unpacks this to the data, in the memory that it has."""
    try:
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_UNPACK_BYTES)
        # A byte more than there should be: damaged data may unpack to any length.
        same = unpacker.decompress(packed, len(data) + 1) == data
    except lzma.LZMAError:
        return False
    return same and unpacker.eof and not unpacker.unused_data and unpacker.check == _CHECK


def _keep(path: Path, packed: bytes) -> None:
    """Write a file of the cache, unless its name belongs to something else; raises OSError."""
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    # A user's own files may be sent as well.
    path.parent.mkdir(mode=0o700, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            return
    write_whole(path, packed)
    _remove_old(path.parent)


def _remove_old(directory: Path) -> None:
    """Remove the least recently used files beyond the limit; raises OSError."""
    kept = []
    for path in directory.iterdir():
        if _NAME.fullmatch(path.name):
            # Another process may remove it first.
            with contextlib.suppress(OSError):
                status = path.lstat()
                if stat.S_ISREG(status.st_mode):
                    kept.append((status.st_mtime_ns, status.st_size, path))
    size = 0
    for _, bytes_here, path in sorted(kept, reverse=True):
        size += bytes_here
        if size > LIMIT_BYTES:
            with contextlib.suppress(OSError):
                path.unlink()
