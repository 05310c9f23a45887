"""A pipe that holds what a board says until somebody reads it."""

from __future__ import annotations

import contextlib
import fcntl
import os

#: What such a pipe holds where the system gives us so much.
QUEUE_BYTES = 1 << 20


def wide_pipe() -> tuple[int, int]:
    """Return both ends of a pipe, the one to read from first."""
    out, into = os.pipe()
    with contextlib.suppress(OSError):  # not everybody may have so much
        fcntl.fcntl(into, fcntl.F_SETPIPE_SZ, QUEUE_BYTES)
    return out, into
