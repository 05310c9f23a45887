"""Child processes: as a stream, or run to their end within bounds."""

from __future__ import annotations

import contextlib
import os
import select
import selectors
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from whylate.starting import close_and_reap, reap, signals_wait

#: How long the probe may take to restore the board after the line was hung up.
LEAVE_S = 30.0
#: The most that a child may still write after the line was hung up: more than a probe holds back.
LEAVE_BYTES = 16 << 20
#: How many of the latest bytes of a command's error stream are kept.
KEPT_BYTES = 4096
#: A command that ignores SIGTERM is killed after this long.
GRACE_S = 1.0
#: The most a command may print, output and error stream together.
MAX_OUTPUT = 16 << 20
#: A child that reads nothing of its input for this long is stuck.
STUCK_S = 30.0
_PIECE = 1 << 16
_TURN_S = 0.1


class StoppedError(Exception):
    """A command exceeded its time or its bytes of output, and was ended.

    `error`: what its error stream held.
    """

    def __init__(self, text: str, error: bytes) -> None:
        super().__init__(text)
        self.error = error


@dataclass(frozen=True)
class Ended:
    """A child process that has ended; status as in subprocess."""

    status: int
    output: bytes
    error: bytes


class ProcessStream:
    """The stream to a child process: its input and its output.

    keep_error: its error stream is not shown but kept for last_words().
    """

    def __init__(self, command: Sequence[str], *, keep_error: bool = False) -> None:
        self._error: socket.socket | None = None
        self._error_text = b""
        theirs: socket.socket | None = None
        if keep_error:
            # To the child it works like a pipe, and it can be read without waiting.
            self._error, theirs = socket.socketpair()
        with contextlib.ExitStack() as unless_started:
            if self._error is not None:
                unless_started.callback(self._error.close)
            try:
                with signals_wait():
                    # In a new session: Ctrl-C at the terminal is for the host, which then stops
                    # the child.
                    self._process = subprocess.Popen(
                        command,
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=None if theirs is None else theirs.fileno(),
                        bufsize=0,
                        # The user's environment: without it the child has the variables of
                        # putenv() too.
                        env=os.environ,
                        start_new_session=True,
                    )
                    unless_started.callback(close_and_reap, self._process)
                    unless_started.callback(end, self._process)
            finally:
                if theirs is not None:
                    theirs.close()
            assert self._process.stdin is not None  # noqa: S101 - both are pipes
            assert self._process.stdout is not None  # noqa: S101
            self._in = self._process.stdin
            # Only this end: the child's input stays blocking.
            os.set_blocking(self._in.fileno(), False)
            self._out = self._process.stdout
            unless_started.pop_all()

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the descriptor of the child's output."""
        return self._out.fileno()

    def read(self, size: int) -> bytes:
        """Return what the child has written, empty when it is gone."""
        self._read_error()
        return os.read(self._out.fileno(), size)

    def write(self, data: bytes, timeout_s: float = STUCK_S) -> None:
        """Send data to the child; raises OSError when it is gone or does not read it in time.

        How much it has read by then is unknown.
        """
        deadline = time.monotonic() + timeout_s
        left = memoryview(data)
        while left:
            # It may wait for its error stream to be read before it reads on.
            self._read_error()
            with contextlib.suppress(BlockingIOError):
                left = left[os.write(self._in.fileno(), left) :]
                continue
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                raise TimeoutError(f"it read no more of its input for {timeout_s:g} s")
            select.select([], [self._in], [], min(wait_s, _TURN_S))

    def last_words(self) -> bytes:
        """Return the end of the child's error stream, where that is kept."""
        self._read_error()
        return self._error_text

    def close(self) -> None:
        """Hang up and wait until the probe has restored the board.

        Bounded by LEAVE_S, and by LEAVE_BYTES of a child that writes on: no probe does.
        """
        if self._out.closed:
            return
        self._in.close()
        deadline = time.monotonic() + LEAVE_S
        left = LEAVE_BYTES
        # Its last output must be read, or it never ends.
        while left > 0 and self._process.poll() is None and time.monotonic() <= deadline:
            left -= _discard(self._process, self._out.fileno(), deadline)
            self._read_error()
        if self._process.poll() is None:
            end(self._process)
        self._read_error()
        if self._error is not None:
            self._error.close()
            self._error = None
        self._out.close()

    def _read_error(self) -> None:
        """Read what is on the error stream, so that the child never waits to write there."""
        while self._error is not None:
            try:
                data = self._error.recv(_PIECE, socket.MSG_DONTWAIT)
            except OSError:
                return
            if not data:
                return
            self._error_text = (self._error_text + data)[-KEPT_BYTES:]


def _discard(process: subprocess.Popen[bytes], output: int, deadline: float) -> int:
    """Discard what a child writes within a moment; return how many bytes that were."""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        if not selector.select(0.05):
            return 0
        data = os.read(output, _PIECE)
    if not data:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, min(0.05, deadline - time.monotonic())))
    return len(data)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a child that leads a session, and its descendants there, and reap it."""
    deadline = time.monotonic() + GRACE_S
    lives = _signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    # Its descendants may take longer, or ignore SIGTERM. While one of them lives, the number of the
    # group cannot be reused.
    while lives and time.monotonic() < deadline:
        time.sleep(0.01)
        lives = _signal_group(process.pid, 0)
    if lives:
        _signal_group(process.pid, signal.SIGKILL)
    reap(process)


def _signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; return whether it still has members."""
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def run_to_end(
    command: Sequence[str],
    data: bytes,
    timeout_s: float,
    limit: int = MAX_OUTPUT,
    error: bytearray | None = None,
) -> Ended:
    """Run a command with `data` as its input and return all that it printed.

    Raises OSError where it cannot be started, and StoppedError after `timeout_s`, or when output
    and error stream together exceed `limit` bytes. In each case, and at any other exception, it
    has been ended. error: collects the error stream as it comes, so that the caller
    has it even after an interrupt.
    """
    error = bytearray() if error is None else error
    deadline = time.monotonic() + timeout_s
    with contextlib.ExitStack() as pipes, contextlib.ExitStack() as unless_ended:
        with signals_wait():
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                env=os.environ,
                start_new_session=True,
            )
            pipes.callback(close_and_reap, process)
            unless_ended.callback(end, process)
        try:
            output = _exchange(process, data, error, deadline, limit)
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise StoppedError(f"took longer than {timeout_s:g} s", bytes(error)) from None
        unless_ended.pop_all()
    return Ended(process.returncode, output, bytes(error))


def _exchange(
    process: subprocess.Popen[bytes], data: bytes, error: bytearray, deadline: float, limit: int
) -> bytes:
    """Write the input and read both outputs until they end, whichever is ready first."""
    assert process.stdin is not None  # noqa: S101 - all three are pipes
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    output = bytearray()
    left = memoryview(data)
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, error)
        if left:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE)
        else:
            process.stdin.close()
        while selector.get_map():
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                raise subprocess.TimeoutExpired(process.args, 0.0)
            ready = selector.select(min(wait_s, GRACE_S))
            if not ready and process.poll() is not None:
                break  # a descendant still holds its outputs, and writes nothing
            for key, _ in ready:
                if key.fileobj is process.stdin:
                    left = _write_some(key.fd, left)
                    if not left:
                        selector.unregister(process.stdin)
                        process.stdin.close()
                elif piece := os.read(key.fd, _PIECE):
                    key.data.extend(piece)
                else:
                    selector.unregister(key.fileobj)
            if len(output) + len(error) > limit:
                raise StoppedError(f"printed more than {limit >> 20} MiB", bytes(error))
    return bytes(output)


def _write_some(descriptor: int, left: memoryview) -> memoryview:
    """Return what is left to write; nothing where the reader is gone."""
    try:
        return left[os.write(descriptor, left) :]
    except BlockingIOError:
        return left
    except OSError:
        return left[:0]
