"""Commands that are child processes of ours: as a stream, or run to their end within bounds."""

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

#: How long the probe may take to put everything back after the line was hung up.
LEAVE_S = 30.0
#: What a command says on its error stream is kept up to so many bytes, the latest ones.
KEPT_BYTES = 4096
#: A command that does not end after it was asked to is killed after this long.
GRACE_S = 1.0
#: What a command may print, output and error stream together.
MAX_OUTPUT = 16 << 20
#: A child that takes nothing of its input for this long is stuck.
STUCK_S = 30.0
_PIECE = 1 << 16
_TURN_S = 0.1


class TooLongError(Exception):
    """A command took longer than it was given, and was ended."""

    def __init__(self, error: bytes) -> None:
        super().__init__("the command took too long")
        #: What it had said on its error stream.
        self.error = error


class TooMuchError(Exception):
    """A command printed more than is kept, and was ended."""

    def __init__(self, error: bytes) -> None:
        super().__init__("the command printed too much")
        self.error = error


@dataclass(frozen=True)
class Ended:
    """A child process that came to its end; status as subprocess gives it."""

    status: int
    output: bytes
    error: bytes


class ProcessStream:
    """The stream to a child process: its input and its output.

    keep_error: what it says on its error stream is not shown but kept for last_words().
    """

    def __init__(self, command: Sequence[str], *, keep_error: bool = False) -> None:
        self._error: socket.socket | None = None
        self._said = b""
        theirs: socket.socket | None = None
        if keep_error:
            # To the child it is as good as a pipe, and we can read it without waiting.
            self._error, theirs = socket.socketpair()
        try:
            # A session of its own: Ctrl-C at the terminal is for the host, which then says stop.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if theirs is None else theirs.fileno(),
                bufsize=0,
                start_new_session=True,
            )
        except OSError:
            if self._error is not None:
                self._error.close()
            raise
        finally:
            if theirs is not None:
                theirs.close()
        assert self._process.stdin is not None  # noqa: S101 - both are pipes
        assert self._process.stdout is not None  # noqa: S101
        self._in = self._process.stdin
        # Our end alone: to the child its input is as it always was.
        os.set_blocking(self._in.fileno(), False)
        self._out = self._process.stdout

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the descriptor of the child's output."""
        return self._out.fileno()

    def read(self, size: int) -> bytes:
        """Return what the child has said, empty when it is gone."""
        self._hear()
        return os.read(self._out.fileno(), size)

    def write(self, data: bytes, timeout_s: float = STUCK_S) -> None:
        """Say something to the child; raises OSError when it is gone or does not take it in time.

        What it took of it until then is not known.
        """
        deadline = time.monotonic() + timeout_s
        left = memoryview(data)
        while left:
            # It may wait for us to hear it before it reads on.
            self._hear()
            with contextlib.suppress(BlockingIOError):
                left = left[os.write(self._in.fileno(), left) :]
                continue
            wait_s = deadline - time.monotonic()
            if wait_s <= 0:
                raise TimeoutError(f"it took no more of its input for {timeout_s:g} s")
            select.select([], [self._in], [], min(wait_s, _TURN_S))

    def last_words(self) -> bytes:
        """Return the latest of what the child said on its error stream, where that is kept."""
        self._hear()
        return self._said

    def close(self) -> None:
        """Hang up and wait until the probe has left the board as it was; bounded by LEAVE_S."""
        if self._out.closed:
            return
        self._in.close()
        deadline = time.monotonic() + LEAVE_S
        # Its last words must find room, or it waits for us as we wait for it.
        while not _over(self._process, self._out.fileno(), deadline):
            self._hear()
        if self._process.poll() is None:
            end(self._process)
        self._hear()
        if self._error is not None:
            self._error.close()
            self._error = None
        self._out.close()

    def _hear(self) -> None:
        """Take what is on the error stream, so that nobody waits to write there."""
        while self._error is not None:
            try:
                data = self._error.recv(_PIECE, socket.MSG_DONTWAIT)
            except OSError:
                return
            if not data:
                return
            self._said = (self._said + data)[-KEPT_BYTES:]


def _over(process: subprocess.Popen[bytes], output: int, deadline: float) -> bool:
    """Throw away what it still says; whether it has ended, or the time is up."""
    if process.poll() is not None or time.monotonic() > deadline:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        if selector.select(0.05) and not os.read(output, _PIECE):
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, min(0.05, deadline - time.monotonic())))
    return False


def end(process: subprocess.Popen[bytes]) -> None:
    """End a child that leads a session, and whoever it started there, and reap it."""
    deadline = time.monotonic() + GRACE_S
    lives = _signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE_S)
    # Whoever it started may take longer than itself, or not hear us. While one of them lives,
    # nobody else can be given the number of the group.
    while lives and time.monotonic() < deadline:
        time.sleep(0.01)
        lives = _signal_group(process.pid, 0)
    if lives:
        _signal_group(process.pid, signal.SIGKILL)
    process.wait()


def _signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; whether there is still somebody in it."""
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
    limit: int,
    said: bytearray | None = None,
) -> Ended:
    """Run a command with `data` as its input and return all that it printed.

    Raises OSError where it cannot be started, TooLongError after `timeout_s`, and TooMuchError
    when output and error stream together exceed `limit` bytes; it has been ended then, as it has
    whatever else ends this. said: is given what it says on its error stream as it comes, for
    whoever must know that also where an interrupt ends the command.
    """
    error = bytearray() if said is None else said
    deadline = time.monotonic() + timeout_s
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    with process, contextlib.ExitStack() as unless_ended:
        unless_ended.callback(end, process)
        output = _exchange(process, data, error, deadline, limit)
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise TooLongError(bytes(error)) from None
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
                raise TooLongError(bytes(error))
            ready = selector.select(min(wait_s, GRACE_S))
            if not ready and process.poll() is not None:
                break  # somebody else still holds its outputs, and has nothing to say
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
                raise TooMuchError(bytes(error))
    return bytes(output)


def _write_some(descriptor: int, left: memoryview) -> memoryview:
    """Return what is left to write; nothing where nobody reads any more."""
    try:
        return left[os.write(descriptor, left) :]
    except BlockingIOError:
        return left
    except OSError:
        return left[:0]
