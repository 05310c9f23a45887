"""What a bisection that the disk has ended tells the user: what is kept, and how to resume it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def resumable(directory: Path) -> Iterator[None]:
    """Name the command that resumes a bisection where a DiskError ends it."""
    from whylate.recording.errors import DiskError

    try:
        yield
    except DiskError as error:
        raise DiskError(
            f"{error}. The runs in {directory} are kept: make room, and the same command with -o "
            f"{directory} resumes the bisection"
        ) from None
