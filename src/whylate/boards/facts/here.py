"""Read this machine's files as the probe would: for developing facts and for their tests."""

from __future__ import annotations

import errno
import glob
import os
import platform
import struct
import time
from collections.abc import Iterable

from whylate.boards.facts.snapshot import FileContent, FileRequest, ProbeFacts, Snapshot


def read_locally(requests: Iterable[FileRequest]) -> Snapshot:
    """Answer requests from this machine; what fails is an answer too, with its errno's name."""
    files: dict[str, FileContent] = {}
    for request in requests:
        plain = glob.escape(request.pattern) == request.pattern
        paths = [request.pattern] if plain else sorted(glob.glob(request.pattern))  # noqa: PTH207
        for path in paths:
            try:
                files[path] = _answer(path, request)
            except OSError as error:
                name = errno.errorcode.get(error.errno or 0, "EIO")
                files[path] = FileContent(b"", error=name)
    return Snapshot(files)


def _answer(path: str, request: FileRequest) -> FileContent:
    if request.kind == "link":
        data = os.fsencode(os.readlink(path))  # noqa: PTH115 (bytes of a link, not a path)
    elif request.kind == "list":
        data = b"\0".join(os.fsencode(name) for name in os.listdir(path))  # noqa: PTH208
    else:
        # One byte more than asked for tells whether there was more; devices (whose reads have
        # fixed sizes) are asked for exactly the limit.
        device = path.startswith("/dev/")
        data = _read(path, request.limit + (not device), request.offset)
    return FileContent(data[: request.limit], truncated=len(data) > request.limit)


def _read(path: str, limit: int, offset: int) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        if offset:
            os.lseek(descriptor, offset, os.SEEK_SET)
        parts: list[bytes] = []
        # sysfs and seq files may answer in pieces.
        while limit > 0 and (part := os.read(descriptor, limit)):
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def probe_facts_here() -> ProbeFacts:
    """Return the probe's own facts, as far as Python can tell them; nothing is measured."""
    import resource

    name = platform.uname()
    return ProbeFacts(
        sysname=name.system,
        nodename=name.node,
        release=name.release,
        version=name.version,
        machine=name.machine,
        arch=name.machine,
        pointer_bits=struct.calcsize("P") * 8,
        effective_uid=os.geteuid(),
        rlimit_rtprio=resource.getrlimit(resource.RLIMIT_RTPRIO)[0],
        rlimit_memlock_bytes=resource.getrlimit(resource.RLIMIT_MEMLOCK)[0],
        clock_resolution_ns=round(time.clock_getres(time.CLOCK_MONOTONIC) * 1e9),
    )
