"""A console that is read always, so that the board never waits for a reader.

A serial console without a reader stops the board: a virtual one after a few hundred bytes, because
a kernel waits for its UART with interrupts disabled. So the console has a thread that always reads
and appends to the log. One user at a time may connect.

While the probe's frames flow over the line (ConsoleStream.frames), log and user get only the text
between them; whylate.boards.console.sieve separates the two. Two lines in square brackets mark in
the log where that began and ended, and how many bytes were left out.
"""

from __future__ import annotations

import errno
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

from whylate.boards.console.channel import Channel, DescriptorChannel
from whylate.boards.console.sieve import FrameSieve
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.streams.queue import ByteQueue
from whylate.boards.streams.shutdown import LEAVE_S, REQUEST_S, ShutdownRequest

#: How often the thread checks whether it must end, and whether text waits for a frame's end.
TURN_S = 0.2
#: The probe ends after this much silence: it cannot see a serial line hang up.
KEEPALIVE_S = 10.0
#: The largest log, whatever the board prints.
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
        """Read from this channel from now on, and detach the previous one."""
        self.detach()
        fresh = DescriptorChannel(channel) if isinstance(channel, int) else channel
        self._leave = threading.Event()
        self._channel = fresh
        self._thread = threading.Thread(
            target=self._drain, args=(fresh, self._leave), name="console", daemon=True
        )
        self._thread.start()

    def detach(self) -> None:
        """Close the channel; its user's stream ends."""
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
                raise BoardBusyError("the console is already connected in this whylate")
            if self._channel is None:
                raise BoardError("the console has no line: is the board switched on?")
            self._user = ConsoleStream(self)
            return self._user

    # -- for the streams

    def _write(self, user: ConsoleStream, data: bytes) -> None:
        with self._write_lock:
            # A stream that has ended must not write to the channel that came after it.
            if self._channel is None or user._queue.ended:
                raise BrokenPipeError(errno.EPIPE, "the console's line is gone")
            self._channel.write(data)

    # -- the thread

    def _drain(self, channel: Channel, leave: threading.Event) -> None:
        try:
            while not leave.is_set():
                data = channel.read(TURN_S)
                with self._lock:
                    self._receive(data)
        except (EOFError, OSError):
            pass
        finally:
            self._hang_up(channel)

    def _hang_up(self, channel: Channel) -> None:
        # First: whoever hears that the stream ends finds the line gone.
        with self._write_lock:
            self._channel = None
            channel.close()
        with self._lock:
            if (user := self._user) is not None:
                self._put_text(user._last_text())
                user._queue.end()
            self._user = None

    def _receive(self, data: bytes) -> None:
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
            self._user._queue.offer(text)

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
            # The board must still be read.
            self.log_error = f"the log {self._path} could not be written: {error}"


class ConsoleStream:
    """A console's bytes for its one user. Implements whylate.probe.client.Stream."""

    def __init__(self, console: DrainedConsole) -> None:
        self._console = console
        self._queue = ByteQueue()
        self._redactor: Redactor | None = None
        self._frames: FramedConsoleStream | None = None

    @property
    def dropped(self) -> int:
        """Bytes that were dropped because they were not read in time; the log has them."""
        return self._queue.dropped

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""
        return self._queue.fileno()

    def read(self, size: int) -> bytes:
        """Return what has arrived, empty once the line is gone."""
        return self._queue.read(size)

    def write(self, data: bytes) -> None:
        """Send all of data to the board; raises OSError where the line is gone or stuck."""
        self._console._write(self, data)

    def hide(self, secret: bytes) -> None:
        """Keep a secret out of the log and out of what read() returns; empty: stop hiding."""
        with self._console._lock:
            if self._redactor is not None:
                self._console._put_text(self._redactor.finish())
            self._redactor = Redactor(secret) if secret else None

    def frames(
        self, end: bytes, on_close: Callable[[FramedConsoleStream], None]
    ) -> FramedConsoleStream:
        """Separate frames from the text until the board sends `end`; read() returns the text."""
        with self._console._lock:
            self._console._append(b"\n[whylate: the probe speaks; its frames are left out]\n")
            self._frames = FramedConsoleStream(self, end, on_close)
            return self._frames

    def close(self) -> None:
        """Disconnect; the console is still drained."""
        if self._queue.closed:
            return
        self.hide(b"")
        if self._frames is not None:
            self._frames.release()
        with self._console._lock:
            if self._console._user is self:
                self._console._user = None
            self._queue.end()
        self._queue.close()

    # -- for the console, which holds its lock

    def _sift(self, data: bytes) -> bytes:
        """Return the text in data; frames go to their queue."""
        text = data if self._frames is None else self._frames._sift(data)
        return text if self._redactor is None else self._redactor.feed(text)

    def _idle(self) -> bytes:
        return b"" if self._frames is None else self._frames._sieve.idle()

    def _last_text(self) -> bytes:
        """Return the text that was still held back; the line has ended."""
        text = b"" if self._frames is None else self._frames._end()
        if self._redactor is not None:
            text = self._redactor.feed(text) + self._redactor.finish()
        return text


class FramedConsoleStream:
    """The stream to a probe whose frames share a console with the kernel's messages.

    Reads only what is for the link: the text between the frames goes to the console's log. Ends
    when the board announces that the program has ended. `on_close` runs once it is closed.
    """

    def __init__(
        self, stream: ConsoleStream, end: bytes, on_close: Callable[[FramedConsoleStream], None]
    ) -> None:
        self._stream = stream
        self._sieve = FrameSieve(end)
        #: What is dropped because it is not read in time, the link requests again.
        self._queue = ByteQueue()
        self._on_close = on_close
        self._shutdown = ShutdownRequest()
        self._finished = False
        self._closed = False

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes for the link arrive."""
        return self._queue.fileno()

    def read(self, size: int) -> bytes:
        """Return bytes for the link, empty when the program has ended or the line is gone."""
        return self._queue.read(size)

    def write(self, data: bytes) -> None:
        """Send data to the probe; raises OSError when it, or the line, is gone."""
        if self._sieve.ended:
            raise BrokenPipeError(errno.EPIPE, "the probe has ended")
        self._shutdown.observe(data)
        self._stream.write(data)

    def close(self) -> None:
        """End the probe, wait until it has restored the board, and return to the shell.

        A probe that misses the shutdown request ends by its keepalive. Where the shell does not
        come back, because the board is dead, the shell's next use reports it.
        """
        if self._closed:
            return
        self._closed = True
        deadline = time.monotonic() + KEEPALIVE_S + LEAVE_S
        try:
            while not self._drained(0.0) and time.monotonic() < deadline:
                self._stream.write(self._shutdown.encode())
                self._drained(REQUEST_S)
        except OSError:
            pass
        self.release()
        self._on_close(self)

    def release(self) -> None:
        """Treat everything on the line as text again."""
        if self._queue.closed:
            return
        console = self._stream._console
        with console._lock:
            self._stream._frames = None
            console._put_text(self._end())
        self._queue.close()

    def _drained(self, seconds: float) -> bool:
        """Drop what arrives in that time; return whether the program or the line has ended."""
        deadline = time.monotonic() + seconds
        while True:
            left = max(deadline - time.monotonic(), 0.0)
            if not select.select([self._queue.fileno()], [], [], left)[0]:
                return False
            if not self._queue.read(1 << 16):
                return True

    # -- for the console, which holds its lock

    def _sift(self, data: bytes) -> bytes:
        frames, text = self._sieve.feed(data)
        self._queue.offer(frames)
        if self._sieve.ended:
            self._queue.end()
        return text

    def _end(self) -> bytes:
        """End what read() returns; return the remaining text and the count of omitted bytes."""
        if self._finished:
            return b""
        self._finished = True
        frames, text = self._sieve.finish()
        self._queue.offer(frames)
        self._queue.end()
        return text + b"\n[whylate: %d bytes of frames were left out]\n" % self._sieve.framed


#: What the log has in its place.
HIDDEN = b"<hidden>"


class Redactor:
    """Replaces a secret in a stream of bytes, however the stream is cut.

    What may be the secret's beginning is withheld until more comes.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """Return what may be shown of data and of what was withheld."""
        if not self._secret:
            return data
        data = (self._held + data).replace(self._secret, HIDDEN)
        for length in range(min(len(self._secret) - 1, len(data)), 0, -1):
            if self._secret.startswith(data[-length:]):
                self._held = data[-length:]
                return data[:-length]
        self._held = b""
        return data

    def finish(self) -> bytes:
        """Return what was withheld; HIDDEN if that is most of the secret."""
        held, self._held = self._held, b""
        return HIDDEN if len(held) * 2 > len(self._secret) else held
