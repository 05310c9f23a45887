"""Waiting for threads so that Ctrl-C is noticed meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future, wait
from typing import Any

#: The main thread looks so often whether a signal has come.
LOOK_S = 0.2


def wait_for_threads(threads: Iterable[threading.Thread]) -> None:
    """Wait until all threads have ended; the handlers of signals run meanwhile.

    Python runs them in the main thread, when that runs next. The kernel may give a signal to any
    other thread of the process: a main thread that waits without an end would never run them.
    """
    for thread in threads:
        while thread.is_alive():
            thread.join(LOOK_S)


def wait_for_futures(futures: Iterable[Future[Any]]) -> None:
    """Wait until all futures are done, as wait_for_threads()."""
    left = set(futures)
    while left:
        left = wait(left, LOOK_S).not_done
