"""Files that appear under their name only when they are whole, and locks between processes.

Locks are flock(2) on a file that is open anyway: they end with the process that holds them. They
work on the file that they protect, whose content a lock file of a library would truncate.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

#: A file or a directory is made under a temporary name first, which is longer.
LONGEST_NAME = 200
LONGEST_PATH = 3800
#: A lock that others hold is tried again after so long.
_LOOK_S = 0.1


class TooLargeError(OSError):
    """A file holds more than its reader takes."""


def read_bounded(path: Path, most: int) -> bytes:
    """Return a file of at most `most` bytes.

    Raises OSError, whose strerror is one line: also for a larger file, a device without an end, and
    a name that no file can have.
    """
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except ValueError as error:
        raise OSError(errno.EINVAL, f"no file has such a name ({error})", str(path)) from None
    if len(data) > most:
        raise TooLargeError(
            errno.EFBIG, f"it is too large: up to {bytes_text(most)} are read", str(path)
        )
    return data


def read_end(path: Path, most: int) -> bytes:
    """Return the last `most` bytes of a regular file, or all of it; raises OSError."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        file.seek(max(0, size - most))
        return file.read(most)


def sha256_of_named(name: str) -> str:
    """Return the SHA-256 of a regular file that a user has named.

    Raises OSError, whose strerror is one line: also for what has no end, as a pipe or /dev/zero
    have, and for a name that no file can have.
    """
    path = Path(name)
    try:
        # Checked before it is opened.
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is not a file", name)
        return sha256_of(path)
    except ValueError as error:
        raise OSError(errno.EINVAL, f"no file has such a name ({error})", name) from None


def bytes_text(count: int) -> str:
    """Return a number of bytes in words: "64 MiB"."""
    return f"{count >> 20} MiB" if count >= 1 << 20 else f"{count >> 10} KiB"


def check_new_path(path: Path) -> None:
    """Raise OSError where nothing can be created under a name; its strerror says why.

    What is created needs a name that is UTF-8, not too long, and a directory that can be written
    to, or made.
    """
    try:
        parts = [part.encode() for part in path.parts]
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "its name is not UTF-8", str(path)) from None
    if any(b"\0" in part for part in parts):
        raise OSError(errno.EINVAL, "its name has a NUL in it", str(path))
    if any(len(part) > LONGEST_NAME for part in parts):
        raise OSError(
            errno.ENAMETOOLONG, f"a part of its name has more than {LONGEST_NAME} bytes", str(path)
        )
    if len(os.fsencode(path.absolute())) > LONGEST_PATH:
        raise OSError(errno.ENAMETOOLONG, f"its path has more than {LONGEST_PATH} bytes", str(path))
    parent = path.absolute().parent
    while not _exists(parent):
        parent = parent.parent
    if not parent.is_dir():
        raise OSError(errno.ENOTDIR, f"{parent} is not a directory", str(path))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise OSError(errno.EACCES, f"{parent} cannot be written to", str(path))


def _exists(path: Path) -> bool:
    """Whether there is anything of that name; raises OSError, as for a loop of links."""
    try:
        path.stat()
    except FileNotFoundError:
        return False
    except NotADirectoryError:
        return False
    return True


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
    unique = f".{os.urandom(4).hex()}" if concurrent else ""
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
    import shutil
    import tempfile

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


def lock_within(fd: int, wait_s: float, *, shared: bool = False) -> bool:
    """Lock an open file as try_lock() does, waiting for others; return whether it was in time.

    Raises OSError.
    """
    deadline = time.monotonic() + wait_s
    while not (locked := try_lock(fd, shared=shared)) and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    return locked


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal; raises OSError."""
    import hashlib

    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
