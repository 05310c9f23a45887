"""Starting a process so that no signal comes between its start and its being noted.

A handler may raise at any instruction of the main thread. A process that has just been forked, and
is neither assigned nor registered to be ended, would then run for ever.
"""

from __future__ import annotations

import contextlib
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

#: Signals that end a command in good order.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

#: A killed process that the kernel is still ending is given up after this long.
REAP_S = 10.0

_Handler = Callable[[int, FrameType | None], object]


@contextmanager
def signals_wait() -> Iterator[None]:
    """Let Python's handlers of SIGNALS wait until the block is left, however it is left.

    The block starts a process and registers its end with something that surrounds the block: a
    handler that waited is called as the block is left, and may raise there. Each handler is called
    once, in the order in which its signal first came. The block must be short, as nobody can
    interrupt it.

    Signals are not blocked, because a child would inherit that. Those that have no handler in
    Python keep their effect. Outside the main thread, which alone runs handlers, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers: dict[int, _Handler] = {}
    waiting: list[int] = []

    def wait(number: int, frame: object) -> None:
        del frame
        if number not in waiting:
            waiting.append(number)

    try:
        for number in SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                handlers[number] = handler
                signal.signal(number, wait)
        yield
    finally:
        try:
            _restore(handlers, wait)
        finally:
            _call(handlers, waiting)


def kill_and_reap(process: subprocess.Popen[Any]) -> None:
    """Kill a process, unless it has ended, close the pipes to it, and wait for it."""
    process.kill()
    close_and_reap(process)


def close_and_reap(process: subprocess.Popen[Any]) -> None:
    """Close the pipes to a process that has ended or was killed, and wait for it."""
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            # Buffered bytes have no reader any more.
            with contextlib.suppress(OSError):
                stream.close()
    reap(process)


def reap(process: subprocess.Popen[Any]) -> None:
    """Wait for a process that has ended or was killed, within REAP_S.

    Popen itself waits without a limit. A handler that raised in its poll() may have left it locked,
    and it would wait for ever (CPython 3.11: Popen._waitpid_lock).
    """
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(REAP_S)


def _restore(handlers: dict[int, _Handler], ours: _Handler) -> None:
    """Restore handlers, except those that the block has replaced."""
    try:
        for number, handler in handlers.items():
            if signal.getsignal(number) is ours:
                signal.signal(number, handler)
    except BaseException:
        # A handler that was restored has raised: the others are not restored yet.
        _restore(handlers, ours)
        raise


def _call(handlers: dict[int, _Handler], waiting: list[int]) -> None:
    """Call the handlers that waited, each whether or not the former has raised."""
    if waiting:
        number = waiting.pop(0)
        try:
            handlers[number](number, None)
        finally:
            _call(handlers, waiting)
