"""A console that is read always, so that the board never waits for a reader.

A serial console without a reader stops the board: a virtual one after a few hundred bytes, for a
kernel waits for its UART with interrupts off. So a thread of the console's own reads on, whoever
else does or does not, and appends to the log. One user at a time may listen in and speak.

While the probe's frames flow over the line (ConsoleStream.frames), log and user are given only
the text between them: whylate.boards.console.sieve says how it is told apart. Two lines in square
brackets say in the log where that began and ended, and how many bytes were left out.
"""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

from whylate.boards.board import BoardBusyError, BoardError
from whylate.boards.console.channel import Channel, DescriptorChannel
from whylate.boards.console.redact import Redactor
from whylate.boards.console.sieve import FrameSieve
from whylate.boards.wide_pipe import wide_pipe

#: The thread looks this often whether it is to end, and whether text waits for a frame's end.
TURN_S = 0.2
#: What one log may come to, whatever the board says.
LOG_BYTES = 256 << 20


class DrainedConsole:
    """A console with its own reading thread. Implements whylate.boards.board.Console.

    `channel` may be a descriptor, which then belongs to the console, or None until attach().
    Raises BoardError where the log cannot be opened.
    """

    def __init__(
        self, channel: Channel | int | None, log: Path, log_bytes: int = LOG_BYTES
    ) -> None:
        self._path = log
        self._log_left = log_bytes
        try:
            self._log = log.open("ab", buffering=0)
        except OSError as error:
            raise BoardError(
                f"the console's log {log} cannot be written: {error.strerror}"
            ) from None
        #: Guards everything below but the channel itself.
        self._lock = threading.Lock()
        self._write_lock = threading.Lock()
        self._channel: Channel | None = None
        self._user: ConsoleStream | None = None
        self._thread: threading.Thread | None = None
        self._leave = threading.Event()
        #: Why the log is not complete; None while it is.
        self.log_error: str | None = None
        if channel is not None:
            self.attach(channel)

    @property
    def log(self) -> Path:
        """The file to which everything that the console prints is appended as it comes."""
        return self._path

    @property
    def attached(self) -> bool:
        """Whether the line is there; it goes when the other end hangs up."""
        return self._channel is not None

    def attach(self, channel: Channel | int) -> None:
        """Read from this channel from now on; one that is still attached is let go of."""
        self.detach()
        fresh = DescriptorChannel(channel) if isinstance(channel, int) else channel
        self._leave = threading.Event()
        self._channel = fresh
        self._thread = threading.Thread(
            target=self._drain, args=(fresh, self._leave), name="console", daemon=True
        )
        self._thread.start()

    def detach(self) -> None:
        """Let go of the channel and close it; its user's stream ends."""
        self._leave.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def close(self) -> None:
        """Detach, and close the log."""
        self.detach()
        self._log.close()

    def connect(self) -> ConsoleStream:
        """Return the bytes of both directions from now on; one user at a time.

        The stream ends with the channel: after attach() connect again. Raises BoardBusyError,
        and BoardError where no channel is attached.
        """
        with self._lock:
            if self._user is not None:
                raise BoardBusyError("somebody of this whylate has the console connected already")
            if self._channel is None:
                raise BoardError("the console's line is not there: is the board switched on?")
            self._user = ConsoleStream(self)
            return self._user

    # -- for the streams

    def _write(self, user: ConsoleStream, data: bytes) -> None:
        with self._write_lock:
            # A stream that was hung up on must not speak over the channel that came after it.
            if self._channel is None or user._in < 0:
                raise BrokenPipeError(errno.EPIPE, "the console's line is gone")
            self._channel.write(data)

    def _release(self, user: ConsoleStream) -> None:
        with self._lock:
            if self._user is user:
                self._user = None

    # -- the thread

    def _drain(self, channel: Channel, leave: threading.Event) -> None:
        try:
            while not leave.is_set():
                data = channel.read(TURN_S)
                with self._lock:
                    self._take(data)
        except (EOFError, OSError):
            pass
        finally:
            self._hang_up(channel)

    def _hang_up(self, channel: Channel) -> None:
        with self._lock:
            if (user := self._user) is not None:
                self._put_text(user._last_text())
                user._hang_up()
            self._user = None
        with self._write_lock:
            self._channel = None
            channel.close()

    def _take(self, data: bytes) -> None:
        user = self._user
        if user is None:
            self._append(data)
        elif data:
            self._put_text(user._sift(data))
        else:
            self._put_text(user._idle())

    def _put_text(self, text: bytes) -> None:
        if not text:
            return
        self._append(text)
        if self._user is not None:
            self._user._offer(text)

    def _append(self, data: bytes) -> None:
        if self.log_error is not None or not data:
            return
        if len(data) > self._log_left:
            self.log_error = f"the log {self._path} is full: the rest was not kept"
            data = data[: self._log_left] + b"\n[whylate: the log is full]\n"
        self._log_left -= len(data)
        try:
            view = memoryview(data)
            while view:
                view = view[self._log.write(view) :]
        except (OSError, ValueError) as error:
            # The board must be read on all the same.
            self.log_error = f"the log {self._path} could not be written: {error}"


class ConsoleStream:
    """A console's bytes for its one user. Implements whylate.probe.client.Stream."""

    def __init__(self, console: DrainedConsole) -> None:
        self._console = console
        self._out, self._in = _queue()
        self._redactor: Redactor | None = None
        self._frames: Frames | None = None
        #: Bytes that were dropped because they were not read in time; the log has them.
        self.dropped = 0

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""
        return self._out

    def read(self, size: int) -> bytes:
        """Return what has arrived, empty once the line is gone."""
        return os.read(self._out, size)

    def write(self, data: bytes) -> None:
        """Send all of data to the board; raises OSError where the line is gone or stuck."""
        self._console._write(self, data)

    def hide(self, secret: bytes) -> None:
        """Keep a secret out of the log, and out of what read() returns; empty: no more."""
        with self._console._lock:
            if self._redactor is not None:
                self._console._put_text(self._redactor.finish())
            self._redactor = Redactor(secret) if secret else None

    def frames(self, end: bytes) -> Frames:
        """Take frames off the line until the board says `end`; read() gives only text meanwhile."""
        with self._console._lock:
            self._console._append(b"\n[whylate: the probe speaks; its frames are left out]\n")
            self._frames = Frames(self, end)
            return self._frames

    def close(self) -> None:
        """Leave; the console is drained on."""
        if self._out < 0:
            return
        self.hide(b"")
        if self._frames is not None:
            self._frames.close()
        self._console._release(self)
        with self._console._lock:
            self._hang_up()
        os.close(self._out)
        self._out = -1

    # -- for the console, which holds its lock

    def _sift(self, data: bytes) -> bytes:
        """Return the text in data; frames go to whoever takes them."""
        text = data if self._frames is None else self._frames._sift(data)
        return text if self._redactor is None else self._redactor.feed(text)

    def _idle(self) -> bytes:
        return b"" if self._frames is None else self._frames._sieve.idle()

    def _offer(self, text: bytes) -> None:
        if self._in >= 0:
            self.dropped += len(text) - _write_some(self._in, text)

    def _last_text(self) -> bytes:
        """Return the text that was still held back; the line has ended."""
        text = b"" if self._frames is None else self._frames._end()
        if self._redactor is not None:
            text = self._redactor.feed(text) + self._redactor.finish()
        return text

    def _hang_up(self) -> None:
        if self._in >= 0:
            os.close(self._in)
            self._in = -1


class Frames:
    """The bytes for the link that come over a console: the reading half of a Stream."""

    def __init__(self, stream: ConsoleStream, end: bytes) -> None:
        self._stream = stream
        self._sieve = FrameSieve(end)
        self._out, self._in = _queue()
        self._over = False
        #: Bytes that were dropped because they were not read in time: the link asks again.
        self.dropped = 0

    @property
    def ended(self) -> bool:
        """Whether the board has said that no more frames follow."""
        return self._sieve.ended

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""
        return self._out

    def read(self, size: int) -> bytes:
        """Return bytes for the link; empty once no more follow."""
        return os.read(self._out, size)

    def close(self) -> None:
        """Take everything on the line for text again."""
        if self._out < 0:
            return
        console = self._stream._console
        with console._lock:
            self._stream._frames = None
            console._put_text(self._end())
        os.close(self._out)
        self._out = -1

    # -- for the console, which holds its lock

    def _sift(self, data: bytes) -> bytes:
        frames, text = self._sieve.feed(data)
        self._offer(frames)
        if self._sieve.ended:
            self._hang_up()
        return text

    def _end(self) -> bytes:
        """End what read() returns, and return the text that is left and what was left out."""
        if self._over:
            return b""
        self._over = True
        frames, text = self._sieve.finish()
        self._offer(frames)
        self._hang_up()
        return text + b"\n[whylate: %d bytes of frames were left out]\n" % self._sieve.framed

    def _offer(self, frames: bytes) -> None:
        if self._in >= 0:
            self.dropped += len(frames) - _write_some(self._in, frames)

    def _hang_up(self) -> None:
        if self._in >= 0:
            os.close(self._in)
            self._in = -1


def _queue() -> tuple[int, int]:
    """Return both ends of a pipe that never makes its writer wait."""
    out, into = wide_pipe()
    os.set_blocking(into, False)
    return out, into


def _write_some(fd: int, data: bytes) -> int:
    """Write what fits and return how much that was; nothing where nobody reads any more."""
    written = 0
    try:
        while written < len(data):
            written += os.write(fd, data[written:])
    except OSError:
        pass
    return written
