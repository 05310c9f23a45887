"""What the lab keeps between builds, and how it knows that it is still what it was."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from whylate.files import lock_within, try_lock
from whylate.lab.errors import LabError

#: Far beyond what fetching and making all images takes on a slow line.
PATIENCE_S = 1200.0
#: Keeps the threads of this process apart; the caches that the one that has it has locked.
_OURS = threading.RLock()
_LOCKED: set[Path] = set()


def cache_directory() -> Path:
    """Return where packages and images are kept: WHYLATE_LAB, or below the user's cache."""
    named = os.environ.get("WHYLATE_LAB")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "whylate" / "lab"


@contextmanager
def building(directory: Path, notify: Callable[[str], None] | None = None) -> Iterator[None]:
    """Keep other builds out of the cache meanwhile; raises LabError.

    Also for errors of the operating system meanwhile, such as a full disk. `notify`
    hears of it where another build has to be waited for. May be used within itself.
    """
    deadline = time.monotonic() + PATIENCE_S
    waited = f"waiting for another build in {directory}"
    if not _OURS.acquire(blocking=False):
        if notify is not None:
            notify(waited)
        if not _OURS.acquire(timeout=PATIENCE_S):
            raise _too_long(directory)
    try:
        with disk_errors(directory):
            if directory in _LOCKED:
                yield
                return
            with _locked(directory, deadline, lambda: None if notify is None else notify(waited)):
                _LOCKED.add(directory)
                try:
                    yield
                finally:
                    _LOCKED.discard(directory)
    finally:
        _OURS.release()


@contextmanager
def disk_errors(directory: Path) -> Iterator[None]:
    """Make LabError, one line, of what the operating system refuses meanwhile."""
    try:
        yield
    except BrokenPipeError:
        raise  # the reader of our output is gone
    except OSError as error:
        where = error.filename or directory
        raise LabError(f"{where} cannot be used: {error.strerror or error}") from None


@contextmanager
def _locked(directory: Path, deadline: float, waits: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of a cache, against other processes; raises OSError and LabError."""
    directory.mkdir(parents=True, exist_ok=True)
    fd = os.open(directory / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        if not try_lock(fd):
            waits()
            if not lock_within(fd, deadline - time.monotonic()):
                raise _too_long(directory)
        yield
    finally:
        os.close(fd)


def _too_long(directory: Path) -> LabError:
    return LabError(
        f"another whylate has been building in {directory} for {PATIENCE_S / 60:.0f} minutes: end "
        "it, or name another place with WHYLATE_LAB"
    )
