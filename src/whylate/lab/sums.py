"""SHA-256 sums of the files in the lab's cache, computed once for each state of a file."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

from whylate.files import sha256_of, write_whole

#: Suffix of the note beside a file, which has its sum and its state.
NOTE = ".sum"
#: A file that changed this recently, ns, may change again without another time of change.
RECENT_NS = 2_000_000_000


def cached_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in the cache, in hexadecimal; raises OSError.

    A note beside the file keeps the sum with the inode, size and times of the file, because a
    board's packages have tens of megabytes and are checked at each boot. A file whose state is
    another one is read again: each write moves its time of change, which no program can set.
    """
    state = _state_of(path)
    note = path.with_name(path.name + NOTE)
    with contextlib.suppress(OSError, ValueError):
        sha256, noted = note.read_text().strip().split(" ", 1)
        if noted == state:
            return sha256
    sha256 = sha256_of(path)
    # The sum may be that of a file which changed meanwhile.
    if _state_of(path) == state and time.time_ns() - path.stat().st_ctime_ns > RECENT_NS:
        # Without a note, as in a cache that cannot be written, it is only read again.
        with contextlib.suppress(OSError):
            write_whole(note, f"{sha256} {state}\n".encode())
    return sha256


def _state_of(path: Path) -> str:
    status = path.stat()
    return f"{status.st_ino} {status.st_size} {status.st_mtime_ns} {status.st_ctime_ns}"
