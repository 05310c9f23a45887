"""The streams to a probe on a virtual board: a socket, a serial port, a growing file."""

from __future__ import annotations

import contextlib
import fcntl
import select
import socket
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

from whylate.boards.errors import BoardError
from whylate.boards.streams.queue import ByteQueue
from whylate.boards.streams.shutdown import LEAVE_S, REQUEST_S, ShutdownRequest

#: A line that accepts nothing for this long is stuck.
STUCK_S = 30.0


class SocketStream:
    """The stream to a listening Unix socket; raises BoardError where nothing listens."""

    def __init__(self, path: Path, timeout_s: float = 5.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self._socket.connect(str(path))
            except OSError as error:
                if time.monotonic() > deadline:
                    self._socket.close()
                    raise BoardError(f"{path} cannot be used: {error.strerror}") from None
                time.sleep(0.02)
            else:
                break
        self._socket.settimeout(STUCK_S)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""
        return self._socket.fileno()

    def read(self, size: int) -> bytes:
        """Return what has arrived, empty at the end."""
        return self._socket.recv(size)

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError."""
        self._socket.sendall(data)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


#: The probe ends after this much silence: a serial port does not hang up. A host that waits for
#: its disk, or emulates its boards on too few CPUs, is silent for seconds.
SERIAL_KEEPALIVE_S = 20.0
_POLL_S = 0.2
#: The end of a frame: an empty frame behind another one, which no decoder counts.
_EMPTY_FRAME = b"\0"
#: A port that needs it gets an empty frame after this much silence from us.
NUDGE_S = 0.05


class SerialPortStream(SocketStream):
    """Ends the probe when it is closed, and waits for that.

    Otherwise two probes would read from the port when the board is measured again at once.
    `has_ended` returns whether the probe has ended; it raises BoardError where the board does not
    answer.

    A thread reads what the board sends, whether or not it is wanted now: QEMU writes each byte
    separately, and stops the whole board once a socket holds some 170 of them. Once the queue is
    full, the thread, and so the board, waits.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._queue = ByteQueue()
        self._shutdown = ShutdownRequest()
        self._write_lock = threading.Lock()
        self._sent_at = 0.0
        self._closing = threading.Event()
        self.has_ended: Callable[[], bool] = lambda: True
        self._threads: list[threading.Thread] = []
        self._start_thread("port", self._drain)

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive, -1 once it is closed."""
        return self._queue.fileno()

    def read(self, size: int) -> bytes:
        """Return what has arrived, empty at the end."""
        return self._queue.read(size)

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError."""
        self._shutdown.observe(data)
        self._send(data)

    def nudge(self) -> None:
        """Send an empty frame whenever nothing was sent for NUDGE_S, until it is closed.

        For ports of which QEMU lowers the interrupt only with the next byte, and for programs
        that read frames. Not before the first message: the port may not be set up yet.
        """
        self._start_thread("nudger", self._keep_nudging)

    def close(self) -> None:
        """Have the probe restore the board and end, and hang up."""
        if self._queue.closed:
            return
        deadline = time.monotonic() + SERIAL_KEEPALIVE_S + LEAVE_S
        request_at = 0.0
        try:
            while not self.has_ended() and time.monotonic() < deadline:
                if time.monotonic() >= request_at:
                    self._send(self._shutdown.encode())
                    request_at = time.monotonic() + REQUEST_S
                # What it still sends is dropped: it could not end while its output is not read.
                if select.select([self.fileno()], [], [], _POLL_S)[0] and not self.read(1 << 16):
                    break
        except (OSError, BoardError):
            pass  # on a dead board nothing ends; its next use reports that
        self._closing.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._queue.close()
        for thread in self._threads:
            thread.join()
        super().close()

    def _start_thread(self, name: str, target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _drain(self) -> None:
        try:
            while True:
                try:
                    data = self._socket.recv(1 << 16)
                except TimeoutError:
                    continue  # the board is silent
                if not data:
                    break
                self._queue.put(data)
        except OSError:
            pass  # the line, or the reader, is gone
        finally:
            self._queue.end()

    def _send(self, data: bytes) -> None:
        with self._write_lock:
            super().write(data)
            self._sent_at = time.monotonic()

    def _keep_nudging(self) -> None:
        while not self._closing.wait(NUDGE_S):
            with self._write_lock:
                if not 0 < self._sent_at < time.monotonic() - NUDGE_S:
                    continue
                try:
                    if not self._unsent_bytes():
                        self._socket.sendall(_EMPTY_FRAME)
                except OSError:
                    return  # the line is gone, and its reader sees that

    def _unsent_bytes(self) -> int:
        """Return how much QEMU has not read yet: behind that it needs no nudge."""
        return int.from_bytes(fcntl.ioctl(self._socket, termios.TIOCOUTQ, bytes(4)), sys.byteorder)


#: How often the file is checked.
_FOLLOW_S = 0.02
_PIECE = 1 << 16


class FileStream:
    """What is appended to a file, as it comes, until its writer is gone.

    The writer never waits for us: it writes to the file, whether we read or not. `writing`
    returns whether more may follow; `on_close` is called once when the stream is closed.
    `last_words` returns what the writer's console printed last.
    """

    def __init__(
        self,
        path: Path,
        writing: Callable[[], bool],
        on_close: Callable[[], None],
        last_words: Callable[[], str] = str,
    ) -> None:
        self.last_words = last_words
        self._path = path
        self._writing = writing
        self._on_close = on_close
        self._queue = ByteQueue()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._follow, name=f"follow-{path.name}")
        self._thread.daemon = True
        self._thread.start()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""
        return self._queue.fileno()

    def read(self, size: int) -> bytes:
        """Return what has arrived; empty once the writer is gone and all was read."""
        return self._queue.read(size)

    def write(self, data: bytes) -> None:
        """Drop it: the board has no input, and needs no acknowledgements."""

    def close(self) -> None:
        """Stop following the file."""
        if self._queue.closed:
            return
        self._stop.set()
        self._queue.close()
        self._thread.join()
        self._on_close()

    def _follow(self) -> None:
        with contextlib.suppress(OSError), self._path.open("rb", buffering=0) as file:
            while not self._stop.is_set():
                # Checked before reading: after a "no" nothing more is written.
                more = self._writing()
                if data := file.read(_PIECE):
                    self._queue.put(data)
                elif more:
                    self._stop.wait(_FOLLOW_S)
                else:
                    break
        self._queue.end()
