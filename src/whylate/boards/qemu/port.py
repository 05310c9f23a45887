"""The stream to a probe on a serial port of a virtual board."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import socket
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

from whylate.boards.board import BoardError
from whylate.boards.farewell import ASK_TO_END_S, LEAVE_S, Farewell
from whylate.boards.sockets import SocketStream
from whylate.boards.wide_pipe import wide_pipe

#: The probe ends when it has heard nothing for so long: a serial port does not hang up. A host that
#: waits for its disk, or emulates its boards on too few CPUs, says nothing for seconds.
SERIAL_KEEPALIVE_S = 20.0
_LOOK_S = 0.2
#: The end of a frame; behind another one it is none, and nobody counts it.
_NOTHING = b"\0"
#: A port that needs it is sent a byte when it was sent none for so long.
NUDGE_S = 0.05


class SerialPortStream(SocketStream):
    """Ends the probe when it is closed, and waits for that.

    Else two of them would read from the port whenever the board is measured again at once. over:
    whether the probe has ended; raises BoardError where the board does not answer.

    A thread reads what the board says, whether or not anybody wants it now: QEMU writes each byte
    by itself, and stands still with all of the board once a socket holds some 170 of them. What
    the thread cannot put down any more the board waits with.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._out, self._into = wide_pipe()
        self._farewell = Farewell()
        self._whole = threading.Lock()
        self._said_at = 0.0
        self._closing = threading.Event()
        self._nudger: threading.Thread | None = None
        self.over: Callable[[], bool] = lambda: True
        self._drainer = threading.Thread(target=self._drain, name="port", daemon=True)
        self._drainer.start()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive, -1 once it is closed."""
        return self._out

    def read(self, size: int) -> bytes:
        """Return what has arrived, empty at the end."""
        return os.read(self._out, size)

    def _drain(self) -> None:
        try:
            while True:
                try:
                    data = self._socket.recv(1 << 16)
                except TimeoutError:
                    continue  # it has nothing to say
                if not data:
                    break
                while data:
                    data = data[os.write(self._into, data) :]
        except OSError:
            pass  # the line is gone, or nobody reads any more
        finally:
            os.close(self._into)

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError."""
        self._farewell.sent(data)
        self._send(data)

    def _send(self, data: bytes) -> None:
        with self._whole:
            super().write(data)
            self._said_at = time.monotonic()

    def nudge(self) -> None:
        """Send a byte that says nothing whenever nothing was sent for NUDGE_S, until it is closed.

        For ports of which QEMU lowers the interrupt only with the next byte, and for programs
        that read frames. Not before the first word: the port may not be set up yet.
        """
        self._nudger = threading.Thread(target=self._keep_nudging, name="nudger", daemon=True)
        self._nudger.start()

    def _keep_nudging(self) -> None:
        while not self._closing.wait(NUDGE_S):
            with self._whole:
                if not 0 < self._said_at < time.monotonic() - NUDGE_S:
                    continue
                try:
                    if not self._on_its_way():
                        self._socket.sendall(_NOTHING)
                except OSError:
                    return  # it is gone, and whoever reads from it is told

    def _on_its_way(self) -> int:
        """Return how much QEMU has not taken yet: behind that it needs no nudge."""
        return int.from_bytes(fcntl.ioctl(self._socket, termios.TIOCOUTQ, bytes(4)), sys.byteorder)

    def close(self) -> None:
        """Have the probe put everything back and end, and hang up."""
        deadline = time.monotonic() + SERIAL_KEEPALIVE_S + LEAVE_S
        ask_at = 0.0
        try:
            while self.fileno() >= 0 and not self.over() and time.monotonic() < deadline:
                if time.monotonic() >= ask_at:
                    self._send(self._farewell.words())
                    ask_at = time.monotonic() + ASK_TO_END_S
                # What it still says is dropped: it could not end while nobody takes it.
                if select.select([self.fileno()], [], [], _LOOK_S)[0] and not self.read(1 << 16):
                    break
        except (OSError, BoardError):
            pass  # a board that is dead ends nothing, and its next use says so
        if self._out < 0:
            return
        self._closing.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        os.close(self._out)
        self._out = -1
        for thread in (self._nudger, self._drainer):
            if thread is not None:
                thread.join()
        super().close()
