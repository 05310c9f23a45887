"""Files that others write and that are followed: opened for each look, and without waiting."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def opened_regular(path: Path) -> Iterator[int]:
    """Open a regular file for reading, during the context; raises OSError, also for a link."""
    # Before it is opened: a device may do something when it is.
    if not stat.S_ISREG(path.lstat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        yield fd
    finally:
        os.close(fd)
