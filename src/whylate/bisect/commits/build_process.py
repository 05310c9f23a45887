"""A build command as a process group of its own, which ends as a whole."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from whylate.bisect.ordered.versions import StoppedEarlyError
from whylate.starting import reap, signals_wait
from whylate.text import plain

#: A group that ignores SIGTERM is killed after this long.
GRACE_S = 2.0
_POLL_S = 0.05
#: The least nice value of a build while a board measures.
_NICE = 15


class CommandError(Exception):
    """A command that cannot be run, or took too long; says why, for a text that begins with it."""


def run_command(
    words: Sequence[str],
    tree: Path,
    log: Path,
    environment: Mapping[str, str],
    limit_s: float,
    stopped: Callable[[], bool],
    *,
    nice: bool = False,
) -> int:
    """Run a command in a work tree, its output appended to a log, and return its exit status.

    After limit_s, and when stopped() returns true, it is ended with all that it has started, unless
    that has made a session of its own. nice: it yields to all else. Raises CommandError,
    StoppedEarlyError.
    """
    with contextlib.ExitStack() as started:
        try:
            with log.open("ab") as output, signals_wait():
                process = subprocess.Popen(
                    words,
                    cwd=tree,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                # Also after its end: what it has left in the background would go on writing.
                started.callback(_end_group, process)
        except FileNotFoundError:
            raise CommandError(f"command is missing: {plain(words[0], 100)}") from None
        except (OSError, ValueError) as error:
            raise CommandError(f"cannot be run: {error}") from None
        if nice:
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PGRP, process.pid, max(_NICE, os.nice(0)))
        deadline = time.monotonic() + limit_s
        while True:
            try:
                return process.wait(_POLL_S)
            except subprocess.TimeoutExpired:
                pass
            if stopped():
                raise StoppedEarlyError
            if time.monotonic() > deadline:
                raise CommandError(f"took more than {_time_text(limit_s)}")


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """End a process group, if there is anything left of it: by SIGTERM, then by SIGKILL."""
    if not _signalled(process, signal.SIGTERM):
        return
    deadline = time.monotonic() + GRACE_S
    while time.monotonic() < deadline:
        if not _signalled(process, 0):
            return
        time.sleep(_POLL_S)
    _signalled(process, signal.SIGKILL)
    reap(process)


def _signalled(process: subprocess.Popen[bytes], number: int) -> bool:
    """Send a signal to a group, 0 for none; return whether there is one that takes it."""
    # A child that has ended keeps its group until it is waited for.
    process.poll()
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _time_text(seconds: float) -> str:
    return f"{seconds / 3600:g} h" if seconds >= 3600 else f"{seconds:g} s"
