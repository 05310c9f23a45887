"""The lock on what the tests of one machine share: its settings, tracefs, and who measures on it.

Tests with the marker `machine` hold it from set-up to tear-down. A test that shares the machine for
a moment only holds it for that moment: `with this_machine():`.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_held = 0


@contextmanager
def this_machine() -> Iterator[None]:
    """Hold the lock; other test runs on this machine wait as well. May be nested."""
    global _held  # noqa: PLW0603 - a process holds a file's lock once
    if _held:
        _held += 1
        try:
            yield
        finally:
            _held -= 1
        return
    path = Path(tempfile.gettempdir()) / f"whylate-tests-{os.getuid()}.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        _held += 1
        try:
            yield
        finally:
            _held -= 1
            # A child that a test forked may still have the descriptor.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)
