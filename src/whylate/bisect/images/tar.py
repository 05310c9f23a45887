"""Writes a root as a tar, the same bytes for the same root.

GNU's format holds names that are not UTF-8 as they are. Times are those of 1970: a tree has none.
A socket is left out, because no tar has them, and programs make theirs anew.
"""

from __future__ import annotations

import hashlib
import tarfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from whylate.bisect.sides.tree import Entry, Type
from whylate.files import create_file
from whylate.recording.errors import DiskError

_TYPES: dict[Type, bytes] = {
    "file": tarfile.REGTYPE,
    "directory": tarfile.DIRTYPE,
    "link": tarfile.SYMTYPE,
    "fifo": tarfile.FIFOTYPE,
}
#: Two blocks of zeros end a tar.
_END = bytes(2 * tarfile.BLOCKSIZE)


def write_tar(
    path: Path,
    entries: Mapping[str, Entry],
    links: Mapping[str, str],
    chunks: Callable[[str, Entry], Iterable[bytes]],
) -> str:
    """Write a root, whole or not at all, and return the SHA-256 of the tar; raises DiskError.

    links: names of files that are hard links, and the name before them of which they are one.
    chunks: the content of a file, of exactly the entry's size. Nothing is synced: after a power cut
    a hybrid is made again.
    """
    sha256 = hashlib.sha256()
    partial = path.with_name(f"{path.name}.partial")
    try:
        with create_file(partial) as file:
            for name in sorted(entries):
                entry = entries[name]
                if entry.type == "socket":
                    continue
                has_content = entry.type == "file" and name not in links
                pieces: Iterable[bytes] = chunks(name, entry) if has_content else ()
                padding = bytes(-entry.size % tarfile.BLOCKSIZE if has_content else 0)
                header = _header(name, entry, links.get(name, ""))
                for piece in (header, *pieces, padding):
                    sha256.update(piece)
                    file.write(piece)
            sha256.update(_END)
            file.write(_END)
        partial.replace(path)
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
    return sha256.hexdigest()


def _header(name: str, entry: Entry, linked: str) -> bytes:
    member = tarfile.TarInfo(name)
    device = tarfile.BLKTYPE if entry.block else tarfile.CHRTYPE
    member.type = tarfile.LNKTYPE if linked else _TYPES.get(entry.type, device)
    # That of a link has no effect, and not every reader knows it.
    member.mode = 0o777 if entry.type == "link" else entry.mode
    member.uid, member.gid = entry.uid, entry.gid
    member.size = entry.size if entry.type == "file" and not linked else 0
    member.linkname = linked or entry.target
    member.devmajor, member.devminor = entry.device
    return member.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape")
