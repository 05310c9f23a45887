"""A file with the image of a card: raw, .xz or .gz."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from whylate.boards.board import Notify
from whylate.boards.errors import BoardError

#: Bytes that are held in memory at a time.
PIECE = 4 << 20
_XZ = b"\xfd7zXZ\x00"
_GZIP = b"\x1f\x8b"
#: Unsupported compression: such a file would be written as it is and never boot.
_UNSUPPORTED = {b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"PK\x03\x04": "zip"}


@dataclass(frozen=True)
class Image:
    """A file whose unpacked content is to be written; `size` is that of the content, in bytes."""

    path: Path
    size: int

    def pieces(self) -> Iterator[bytes]:
        """Yield the content in pieces of PIECE bytes, the last one shorter; raises BoardError."""
        with closing(_open(self.path)) as file:
            while piece := _read(self.path, file):
                yield piece


def open_image(path: Path, notify: Notify) -> Image:
    """Return an image that was read once to its end; raises BoardError.

    So a damaged file is found before anything is written, and the unpacked size is known (gzip's
    own field holds it only modulo 2³²).
    """
    try:
        if not path.is_file():
            raise BoardError(f"{path} is not a file" if path.exists() else f"{path} does not exist")
        with path.open("rb") as file:
            head = file.read(8)
    except OSError as error:
        raise BoardError(f"{path} cannot be read: {error.strerror}") from None
    for magic, name in _UNSUPPORTED.items():
        if head.startswith(magic):
            raise BoardError(f"{path} is a {name} file: unpack it first, or pack it with xz")
    size = path.stat().st_size
    if head.startswith((_XZ, _GZIP)):
        notify(f"checking {path.name}")
        size = sum(len(piece) for piece in Image(path, 0).pieces())
    if not size:
        raise BoardError(f"{path} is empty")
    return Image(path, size)


def _open(path: Path) -> BinaryIO:
    try:
        with path.open("rb") as file:
            head = file.read(8)
        if head.startswith(_XZ):
            return cast(BinaryIO, lzma.open(path))
        if head.startswith(_GZIP):
            return cast(BinaryIO, gzip.open(path))
        return path.open("rb")
    except OSError as error:
        raise BoardError(f"{path} cannot be read: {error.strerror}") from None


def _read(path: Path, file: BinaryIO) -> bytes:
    """Return one piece; decompressors may return less than was requested."""
    parts: list[bytes] = []
    missing = PIECE
    try:
        while missing and (part := file.read(missing)):
            parts.append(part)
            missing -= len(part)
    except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        raise BoardError(f"{path} is damaged: {error}") from None
    return b"".join(parts)
