"""Reads a tree from a tarball as a stream; raises SideError for what is no root file system."""

from __future__ import annotations

import tarfile
from collections.abc import Sequence
from pathlib import Path

from whylate.bisect.sides.errors import SideError
from whylate.bisect.sides.tree import (
    MAX_ENTRIES,
    MAX_FILE,
    MAX_TOTAL,
    Collected,
    Entry,
    Tree,
    Type,
    chunks_of,
    links_of,
)
from whylate.tarballs import TarballError, member_name, members, opened_tarball

_TYPES: dict[bytes, Type] = {
    tarfile.DIRTYPE: "directory",
    tarfile.SYMTYPE: "link",
    tarfile.CHRTYPE: "device",
    tarfile.BLKTYPE: "device",
    tarfile.FIFOTYPE: "fifo",
}


def read_tarball(path: Path) -> Tree:
    """Return the tree of a tarball, plain or packed with gzip, xz or zstd; raises SideError.

    A member that a later one of the same name replaces is left out, as when it is unpacked.
    """
    try:
        return _read_tree(path)
    except TarballError as error:
        raise SideError(str(error)) from None


def _read_tree(path: Path) -> Tree:
    collected = Collected()
    entries: dict[str, Entry] = {}
    #: The member that has the content of a file, by its name and those of its hard links.
    contents: dict[str, int] = {}
    total = count = 0
    with opened_tarball(path) as archive:
        for member in members(archive):
            name = member_name(path, member.name)
            total += member.size if member.isreg() and member.size <= MAX_FILE else 0
            if total > MAX_TOTAL or len(entries) > MAX_ENTRIES:
                raise SideError(
                    f"{path} holds more than {MAX_ENTRIES:,} files or {MAX_TOTAL >> 30} GiB: it is "
                    "no root file system"
                )
            if name:
                entries[name] = _entry(path, archive, member, entries, collected)
                count += 1
                linked = member_name(path, member.linkname) if member.islnk() else name
                contents[name] = contents.get(linked, count) if linked != name else count
    if not entries:
        raise SideError(f"{path} holds no file: name the tarball of a root file system")

    def read(paths: Sequence[str], most: int) -> dict[str, bytes]:
        try:
            return _read(path, frozenset(paths), most)
        except TarballError as error:
            raise SideError(str(error)) from None

    files = ((name, file) for name, file in contents.items() if entries[name].type == "file")
    return Tree(entries, collected.kept, read, collected.unread, links_of(files))


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
        return bare._replace(type=kind, target=target, device=device, block=member.isblk())
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
        with opened_tarball(path) as archive:
            for member in members(archive):
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
