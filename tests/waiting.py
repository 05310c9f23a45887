"""Waiting for what a test made happen: tests wait for conditions, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable


def came_true(condition: Callable[[], object], seconds: float = 30.0) -> bool:
    """Wait until a condition is true; return whether it was within so many seconds."""
    deadline = time.monotonic() + seconds
    while not (true := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(true)
