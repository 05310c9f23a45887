"""Reads a tree from an image of an ext2, ext3 or ext4 file system through debugfs of e2fsprogs.

Nothing is mounted, no privilege is needed, and the image is opened for reading only. One process of
debugfs answers many requests; each answer follows an echo of its request. `ls -p` prints a line
/inode/mode/uid/gid/name/size/ for each name: no name has a slash, so that a name with a line break
forges nothing. `cat` prints as many bytes as the size of a file, and a stream out of step ends it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from whylate.bisect.sides.errors import SideError
from whylate.bisect.sides.tree import (
    CHUNK,
    MAX_ENTRIES,
    MAX_FILE,
    MAX_TOTAL,
    TYPES,
    Collected,
    Entry,
    Tree,
    Type,
    chunks_of,
    links_of,
)
from whylate.starting import kill_and_reap, signals_wait
from whylate.tarballs import MAX_DEPTH

#: Where the magic number of the superblock is (Linux: fs/ext4/ext4.h).
MAGIC_AT, MAGIC = 1024 + 56, b"\x53\xef"
_ROOT_INODE = 2
#: A line of a listing, and the description of an inode, are shorter.
_MAX_LISTING = 1 << 28
_MAX_INODE = 1 << 20
#: Answers to one script take minutes at most, of an image of many GiB.
_LONGEST_S = 1800.0
#: What a listing does not show all of.
_TO_READ: frozenset[Type] = frozenset({"file", "link", "device"})
#: A shorter target stands in the inode itself, where `cat` does not find it.
_SHORT_TARGET = 60
_TARGET = b'Fast link dest: "'
_END_OF_TARGET = b'"\n'
#: Numbers above 255 have a new style.
_NUMBERS = (b"Device major/minor number: ", b"(New-style) Device major/minor number: ")
_DEVICE = re.compile(rb"[^:]*: (\d{1,8}):(\d{1,8}) ")
#: Room for a name that no file has.
_UNUSED = b"/0/"
#: What a file system has for its own repair is no part of a root.
_REPAIR = "lost+found"
#: Characters of a path are 4096 at most, and those of a link's target too.
_MAX_TARGET = 4096


class _OutOfStepError(Exception):
    """debugfs did not print what was expected."""


def read_image(path: Path) -> Tree:
    """Return the tree of an image; raises SideError."""
    debugfs = shutil.which("debugfs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if debugfs is None:
        raise SideError(f"{path} is an ext4 image, and debugfs is missing: install e2fsprogs")
    image = _Image(path, debugfs)
    try:
        names = image.list_names()
        entries, collected = image.read_inodes(names)
    except _OutOfStepError as error:
        raise SideError(f"{path} is damaged ({error}): e2fsck -fn says more") from None

    def read(paths: Sequence[str], most: int) -> dict[str, bytes]:
        try:
            return image.read_files([(name, *names[name]) for name in paths if name in names], most)
        except _OutOfStepError as error:
            raise SideError(f"{path} is damaged ({error}): e2fsck -fn says more") from None

    files = ((path, inode) for path, (inode, entry) in names.items() if entry.type == "file")
    return Tree(entries, collected.kept, read, collected.unread, links_of(files))


class _Image:
    """An image and the program that reads it."""

    def __init__(self, path: Path, debugfs: str) -> None:
        self._path = path
        self._debugfs = debugfs

    def list_names(self) -> dict[str, tuple[int, Entry]]:
        """Return the inode of each name, and what a listing tells of it; one level at a time."""
        names: dict[str, tuple[int, Entry]] = {}
        seen = {_ROOT_INODE}
        level = [("", _ROOT_INODE)]
        for _ in range(MAX_DEPTH):
            below: list[tuple[str, int]] = []
            requests = [f"ls -p <{inode}>" for _, inode in level]
            with self._answers(requests) as answers:
                for (here, _inode), request in zip(level, requests, strict=True):
                    answers.expect_echo(request)
                    for name, inode, entry in answers.listing():
                        if not here and name == _REPAIR:
                            continue
                        path = f"{here}/{name}" if here else name
                        names[path] = inode, entry
                        # A directory that is there twice would have no end.
                        if entry.type == "directory" and inode not in seen:
                            seen.add(inode)
                            below.append((path, inode))
                    if len(names) > MAX_ENTRIES:
                        raise SideError(f"{self._path} has more than {MAX_ENTRIES:,} files")
            if not below:
                return names
            level = below
        raise _OutOfStepError(f"directories within more than {MAX_DEPTH} others")

    def read_inodes(
        self, names: dict[str, tuple[int, Entry]]
    ) -> tuple[dict[str, Entry], Collected]:
        """Return the entries with contents, targets and numbers of devices."""
        collected = Collected()
        paths = self._inodes_to_read(names, collected)
        requests = [f"{_verb(names[path][1])} <{inode}>" for inode, path in paths.items()]
        whole: dict[int, Entry] = {}
        with self._answers(requests) as answers:
            for (inode, path), request in zip(paths.items(), requests, strict=True):
                answers.expect_echo(request)
                entry = names[path][1]
                if entry.type == "file":
                    digest = collected.digest(path, entry.size, answers.content(entry.size))
                    whole[inode] = entry._replace(digest=digest)
                elif entry.type == "link":
                    is_short = entry.size < _SHORT_TARGET
                    content = answers.target if is_short else answers.content
                    target = b"".join(content(entry.size))
                    whole[inode] = entry._replace(target=os.fsdecode(target), size=0)
                else:
                    whole[inode] = entry._replace(device=answers.device(), size=0)
        entries = {path: whole.get(inode, entry) for path, (inode, entry) in names.items()}
        return entries, collected

    def _inodes_to_read(
        self, names: dict[str, tuple[int, Entry]], collected: Collected
    ) -> dict[int, str]:
        """Return a name for each inode of which a listing does not show all."""
        paths: dict[int, str] = {}
        total = 0
        for path, (inode, entry) in names.items():
            if entry.type == "link" and entry.size > _MAX_TARGET:
                raise _OutOfStepError(f"a link with a target of {entry.size} bytes")
            if entry.type == "file" and entry.size > MAX_FILE:
                collected.leave("too large")
            elif entry.type in _TO_READ and inode not in paths:
                paths[inode] = path
                total += entry.size
        if total > MAX_TOTAL:
            raise SideError(f"{self._path} claims to hold more than {MAX_TOTAL >> 30} GiB")
        return paths

    def read_files(self, wanted: Sequence[tuple[str, int, Entry]], most: int) -> dict[str, bytes]:
        """Return the contents of small files."""
        small = [row for row in wanted if row[2].type == "file" and row[2].size <= most]
        requests = [f"cat <{inode}>" for _, inode, _ in small]
        contents = {}
        with self._answers(requests) as answers:
            for (path, _, entry), request in zip(small, requests, strict=True):
                answers.expect_echo(request)
                contents[path] = b"".join(answers.content(entry.size))
        return contents

    @contextmanager
    def _answers(self, requests: Sequence[str]) -> Iterator[_Answers]:
        """Start debugfs with requests, and yield what it prints; raises SideError."""
        with (
            self._path.open("rb") as image,
            tempfile.TemporaryFile() as script,
            contextlib.ExitStack() as started,
        ):
            script.write("".join(f"{request}\n" for request in requests).encode())
            script.flush()
            script.seek(0)
            fd = image.fileno()
            # By its number: a question mark in a name would begin options of debugfs. Without
            # bitmaps (-c), which are not needed.
            with signals_wait():
                process = subprocess.Popen(
                    [self._debugfs, "-c", "-f", "/dev/stdin", f"/proc/self/fd/{fd}"],
                    stdin=script,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    pass_fds=[fd],
                    env={**os.environ, "DEBUGFS_PAGER": "__none__", "LC_ALL": "C"},
                )
                started.callback(kill_and_reap, process)
            assert process.stdout is not None  # noqa: S101 - it is a pipe
            # A damaged image can keep it busy for ever.
            limit = threading.Timer(_LONGEST_S, process.kill)
            limit.daemon = True
            started.callback(limit.cancel)
            limit.start()
            yield _Answers(process.stdout)


class _Answers:
    """What debugfs prints, piece by piece; raises _OutOfStepError."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        #: What was read of the next echo, behind a listing.
        self._ahead = b""

    def expect_echo(self, request: str) -> None:
        """Read the echo of a request."""
        expected = f"debugfs: {request}\n".encode()
        got = self._ahead + self._stream.read(len(expected) - len(self._ahead))
        self._ahead = b""
        if got != expected:
            raise _OutOfStepError(f"no answer to {request!r}" if not got else f"before {request!r}")

    def content(self, size: int) -> Iterator[bytes]:
        """Yield the bytes of a file."""
        left = size
        for chunk in chunks_of(self._stream, size):
            left -= len(chunk)
            yield chunk
        if left:
            raise _OutOfStepError("a file ends early")

    def target(self, size: int) -> Iterator[bytes]:
        """Yield the target of a link out of the description of its inode."""
        text = self._line_with((_TARGET,)).partition(_TARGET)[2]
        # A target may have line breaks.
        text += self._stream.read(max(0, size + len(_END_OF_TARGET) - len(text)))
        if text[size:] != _END_OF_TARGET:
            raise _OutOfStepError("a link without a target")
        yield text[:size]

    def device(self) -> tuple[int, int]:
        """Return the numbers of a device out of the description of its inode."""
        match = _DEVICE.match(self._line_with(_NUMBERS))
        if match is None:
            raise _OutOfStepError("a device without numbers")
        return int(match[1]), int(match[2])

    def _line_with(self, starts: tuple[bytes, ...]) -> bytes:
        """Return the next line of a description that begins like that."""
        read = 0
        while read < _MAX_INODE and (line := self._stream.readline(CHUNK)):
            if line.startswith(starts):
                return line
            read += len(line)
        raise _OutOfStepError(f"no line {starts[0].decode()!r}")

    def listing(self) -> Iterator[tuple[str, int, Entry]]:
        """Yield the names of a directory with their inodes, until an empty line."""
        read = 0
        while True:
            line = self._stream.readline(CHUNK)
            if line == b"\n":
                return
            # A name may have line breaks.
            while line.count(b"/") < 7:
                more = self._stream.readline(CHUNK)
                line += more
                if not more or len(line) > CHUNK:
                    raise _OutOfStepError("a directory ends early")
            read += len(line)
            if read > _MAX_LISTING:
                raise _OutOfStepError("a directory has no end")
            row = None if line.startswith(_UNUSED) else _row(line)
            if row is not None and row[0] not in (".", ".."):
                yield row


def _verb(entry: Entry) -> str:
    """Return what to ask debugfs for about an inode."""
    short = entry.type == "link" and entry.size < _SHORT_TARGET
    return "stat" if short or entry.type == "device" else "cat"


def _row(line: bytes) -> tuple[str, int, Entry]:
    try:
        start, inode, mode_text, uid, gid, name, size, end = line.split(b"/")
        mode = int(mode_text, 8)
        kind = TYPES.get(stat.S_IFMT(mode))
        if start or end != b"\n" or not name or kind is None:
            raise ValueError
        entry = Entry(
            kind, stat.S_IMODE(mode), int(uid), int(gid), int(size or b"0"),
            block=stat.S_ISBLK(mode),
        )  # fmt: skip
    except ValueError:
        raise _OutOfStepError(f"a directory has a row {line[:60]!r}") from None
    if kind not in ("file", "link"):
        entry = entry._replace(size=0)
    return os.fsdecode(name), int(inode), entry
