"""What the lab keeps between builds, and how it knows that it is still what it was."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whylate.lab.errors import LabError


def cache_directory() -> Path:
    """Return where packages and images are kept: WHYLATE_LAB, or below the user's cache."""
    named = os.environ.get("WHYLATE_LAB")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "whylate" / "lab"


@contextmanager
def building(directory: Path) -> Iterator[None]:
    """Keep other builds out of the cache meanwhile; raises LabError."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        fd = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise LabError(f"{directory} cannot be written: {error.strerror}") from None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def sha256_of(path: Path) -> str:
    """Return a file's SHA-256 in hexadecimal; raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def recorded_hash(path: Path) -> str | None:
    """Return the hash that was written down in a file, or None."""
    try:
        return path.read_text().strip()
    except OSError:
        return None
