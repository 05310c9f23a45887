"""Calls into labgrid: one at a time, in bounded time, and with BoardError.

labgrid is not thread-safe (its steps are one global stack), and many of its drivers wait forever
when their device hangs.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TypeVar

from whylate.boards.board import Notify
from whylate.boards.errors import BoardError
from whylate.boards.ssh import explain
from whylate.text import clean

#: How long a driver may take to switch something.
CALL_S = 30.0
#: How long releasing may take: a driver may hang already.
CLEAN_UP_S = 10.0
_LOCK = threading.Lock()
#: A supply's address may hold its user and password.
_CREDENTIALS = re.compile(r"//[^/@\s]{1,200}@")
#: What labgrid's util/ssh.py raises, with ssh's error stream as Python writes bytes.
_PROXY = re.compile(
    r"failed to connect (?:\(timeout\) )?to (?P<host>\S+) with args .*,"
    r"(?P<printed>b'(?:[^'\\]|\\.)*'|b\"(?:[^\"\\]|\\.)*\")$"
)

T = TypeVar("T")


def load_labgrid() -> ModuleType:
    """Import labgrid, which takes the better part of a second; raises BoardError."""
    try:
        # Its client replaces the hook; and a library must not print errors by itself.
        hook = sys.excepthook
        root = logging.getLogger()
        if not root.handlers:
            root.addHandler(logging.NullHandler())
        # Otherwise, in a process that forks with an open session (as pexpect does), gRPC restarts
        # its threads in the child, where they sometimes abort before its exec().
        os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
        module = importlib.import_module("labgrid")
        importlib.import_module("labgrid.remote.client")
        sys.excepthook = hook
    except ImportError as error:
        raise BoardError(
            f"labgrid cannot be used ({clean(str(error), 120)}): install it with "
            "pip install 'whylate[boards]'"
        ) from None
    return module


def bounded(what: str, call: Callable[[], T], timeout_s: float = CALL_S) -> T:
    """Return what a call into labgrid returns; raises BoardError for whatever it raises.

    `what` names it in the error: "board7: switching its supply on". A call that does not return in
    time is abandoned and keeps the lock: the next call reports that.
    """
    done = threading.Event()
    result: list[T] = []
    failed: list[BaseException] = []
    deadline = time.monotonic() + timeout_s
    began = threading.Event()

    def work() -> None:
        try:
            if not _LOCK.acquire(timeout=timeout_s):
                return
            began.set()
            try:
                result.append(call())
            finally:
                _LOCK.release()
        except BaseException as error:
            failed.append(error)
        finally:
            done.set()

    threading.Thread(target=work, name=f"labgrid: {what}", daemon=True).start()
    done.wait(max(0.0, deadline - time.monotonic()) + 0.5)
    if failed:
        error = failed[0]
        if isinstance(error, BoardError):
            raise error
        raise BoardError(f"{what} failed: {describe(error)}") from None
    if not result:
        if began.is_set():
            raise BoardError(f"{what} took longer than {timeout_s:g} s: it does not answer")
        raise BoardError(f"{what} did not begin: labgrid still waits for something else")
    return result[0]


def release(what: str, call: Callable[[], object]) -> None:
    """Make a call that releases something; raises BoardError."""
    bounded(what, call, CLEAN_UP_S)


@contextlib.contextmanager
def released_on_failure(undo: Callable[[], None], notify: Notify) -> Iterator[None]:
    """Release what was acquired so far when the rest fails."""
    try:
        yield
    except BaseException:
        try:
            undo()
        except BoardError as error:
            # The first error matters more.
            notify(str(error))
        raise


def proxy_failure(error: BaseException) -> str | None:
    """Return why labgrid cannot connect to its proxy and what to do; None for another error."""
    failed = _PROXY.match(str(error))
    if failed is None:
        return None
    host = clean(failed["host"], 80)
    printed = bytes(ast.literal_eval(failed["printed"]))
    return f"no way over labgrid's proxy {host}: {explain(printed, f'ssh {host}')}"


def describe(error: BaseException) -> str:
    """Return an error of labgrid as one safe line, without any password in it."""
    if (failure := proxy_failure(error)) is not None:
        return failure
    text = _CREDENTIALS.sub("//", str(error) or getattr(error, "msg", ""))
    return clean(f"{text}" if text else type(error).__name__, 300)
