"""Reads a tree from a directory; links are never followed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO

from whylate.bisect.sides.errors import SideError
from whylate.bisect.sides.tree import (
    MAX_ENTRIES,
    MAX_FILE,
    TYPES,
    Collected,
    Entry,
    Tree,
    chunks_of,
    links_of,
)
from whylate.tarballs import MAX_DEPTH

#: Mount points of the running system, whose content belongs to no image.
_RUNNING = frozenset({"proc", "sys", "dev", "run", "tmp"})
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def read_directory(root: Path) -> Tree:
    """Return the tree of a directory; raises SideError.

    File systems that are mounted on proc, sys, dev, run and tmp are left out.
    """
    collected = Collected()
    entries: dict[str, Entry] = {}
    several: list[tuple[str, tuple[int, int]]] = []
    try:
        device = root.stat().st_dev
    except OSError as error:
        raise SideError(f"{root} cannot be read: {error.strerror}") from None
    waiting = [""]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(root / here) as names:
                inside = list(names)
        except OSError as error:
            if not here:
                raise SideError(f"{root} cannot be read: {error.strerror}") from None
            collected.leave(f"directory: {error.strerror}")
            continue
        for name in inside:
            path = f"{here}/{name.name}" if here else name.name
            try:
                status = name.stat(follow_symlinks=False)
                entries[path] = entry = _entry(name.path, path, status, collected)
            except OSError as error:
                collected.leave(str(error.strerror))
                continue
            if entry.type == "file" and status.st_nlink > 1:
                several.append((path, (status.st_dev, status.st_ino)))
            mounted = status.st_dev != device and path in _RUNNING
            if entry.type == "directory" and not mounted and path.count("/") < MAX_DEPTH:
                waiting.append(path)
        if len(entries) > MAX_ENTRIES:
            raise SideError(f"{root} has more than {MAX_ENTRIES:,} files: name a root file system")
    read = partial(_read_files, root)
    return Tree(entries, collected.kept, read, collected.unread, links_of(several))


def _entry(at: str, path: str, status: os.stat_result, collected: Collected) -> Entry:
    """Return what a name stands for, which lies at `at`; raises OSError."""
    kind = TYPES.get(stat.S_IFMT(status.st_mode), "socket")
    mode = stat.S_IMODE(status.st_mode)
    bare = Entry(kind, mode, status.st_uid, status.st_gid)
    if kind == "link":
        # Path.readlink() would change a//b to a/b.
        return bare._replace(target=os.readlink(at))  # noqa: PTH115
    if kind == "device":
        numbers = os.major(status.st_rdev), os.minor(status.st_rdev)
        return bare._replace(device=numbers, block=stat.S_ISBLK(status.st_mode))
    if kind != "file":
        return bare
    bare = bare._replace(size=status.st_size)
    if status.st_size > MAX_FILE:
        collected.leave("too large")
        return bare
    try:
        with _opened(at) as file:
            content = chunks_of(file, status.st_size)
            return bare._replace(digest=collected.digest(path, status.st_size, content))
    except OSError as error:
        collected.leave(str(error.strerror))
        return bare


@contextmanager
def _opened(at: str) -> Iterator[IO[bytes]]:
    """Open a regular file; raises OSError, also for what has taken its place meanwhile."""
    fd = os.open(at, _READ)
    with open(fd, "rb", buffering=0) as file:  # noqa: PTH123 - it is open
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file any more", at)
        yield file


def _read_files(root: Path, paths: Sequence[str], most: int) -> dict[str, bytes]:
    contents = {}
    for path in paths:
        with suppress(OSError), _opened(f"{root}/{path}") as file:
            contents[path] = b"".join(chunks_of(file, most))
    return contents
