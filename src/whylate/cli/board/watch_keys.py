"""The keys that are typed while something is shown on the whole terminal."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def typed_keys() -> Iterator[Callable[[float], bool]]:
    """Yield what waits so many seconds and returns whether q was typed; keys are not echoed."""
    fd = sys.stdin.fileno()
    saved = termios.tcgetattr(fd)

    def typed(seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if select.select([fd], [], [], left)[0]:
                keys = os.read(fd, 64)
                if not keys or b"q" in keys.lower():
                    return True
        return False

    try:
        tty.setcbreak(fd)
        yield typed
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, saved)
