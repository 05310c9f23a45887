"""Files that appear under their name only when they are whole, and locks between processes.

Locks are flock(2) on a file that is open anyway: they end with the process that holds them. They
work on the file that they protect, whose content a lock file of a library would truncate.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def create_file(path: Path) -> IO[bytes]:
    """Create a file, replacing what has its name; raises OSError.

    A link of that name is removed, never followed: the directory may have come from anywhere.
    """
    path.unlink(missing_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o644), "wb")


@contextmanager
def whole_file(path: Path, *, concurrent: bool = False) -> Iterator[IO[bytes]]:
    """Yield a file to write; at the end it is synced and renamed to path. Raises OSError.

    Readers see the former file or the whole new one; where the block raises, nothing changes. The
    next writer removes what a killed one has left. concurrent: others may write path meanwhile.
    """
    unique = f".{secrets.token_hex(4)}" if concurrent else ""
    partial = path.with_name(f"{path.name}{unique}.partial")
    try:
        with create_file(partial) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_whole(path: Path, data: bytes) -> None:
    """Write a file that others see whole or not at all, and may write too; raises OSError."""
    with whole_file(path, concurrent=True) as file:
        file.write(data)


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """Yield a new directory; at the end it is synced and renamed to path. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        partial.chmod(0o755)
        yield partial
        sync_directory(partial)
        partial.rename(path)
        sync_directory(path.parent)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def sync_directory(directory: Path) -> None:
    """Make what was created or renamed in a directory survive a power cut; raises OSError."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes | bytearray) -> None:
    """Write all of data, however little a write(2) takes; raises OSError."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def try_lock(fd: int, *, shared: bool = False) -> bool:
    """Lock an open file if no other process has; return whether it did. Raises OSError.

    The lock ends when fd and its duplicates are closed, as the death of the process does.
    """
    try:
        fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in (errno.EAGAIN, errno.EACCES):
            raise
        return False
    return True


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
