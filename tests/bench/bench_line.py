"""A serial line of the simulated bench: a pty that stays when the board behind it is off."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import threading
import tty


class SerialLine:
    """The host opens `path`; the board behind is attached while it is on.

    As with a UART nobody waits: what the host does not read in time is lost.
    """

    def __init__(self) -> None:
        self._master, self._slave = pty.openpty()
        # Kept open, so that the line outlives its users.
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        self._board = -1
        self._lock = threading.Lock()
        self._wake, self._waker = os.pipe()
        self._closed = False
        self._thread = threading.Thread(target=self._pump)
        self._thread.start()

    def attach(self, fd: int) -> None:
        """Connect a board; the descriptor is the line's from now on."""
        self.detach()
        with self._lock:
            self._board = fd
        os.write(self._waker, b"w")

    def detach(self) -> None:
        with self._lock:
            if self._board >= 0:
                os.close(self._board)
                self._board = -1

    def say(self, data: bytes) -> None:
        """Put bytes on the line as if the board had sent them."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._master, data)

    def close(self) -> None:
        self._closed = True
        os.write(self._waker, b"w")
        self._thread.join()
        self.detach()
        for fd in (self._master, self._slave, self._wake, self._waker):
            os.close(fd)

    def _pump(self) -> None:
        while not self._closed:
            with self._lock:
                board = self._board
            wanted = [fd for fd in (self._master, self._wake, board) if fd >= 0]
            try:
                ready, _, _ = select.select(wanted, [], [], 0.1)
            except (OSError, ValueError):
                continue
            if self._wake in ready:
                os.read(self._wake, 100)
            with self._lock:
                if board != self._board:
                    continue
                self._carry(ready, board)

    def _carry(self, ready: list[int], board: int) -> None:
        if self._master in ready:
            data = os.read(self._master, 4096)
            if board >= 0:
                with contextlib.suppress(OSError):
                    os.write(board, data)
        if board in ready:
            try:
                data = os.read(board, 4096)
            except OSError:
                data = b""
            if data:
                self.say(data)
            else:
                os.close(board)
                self._board = -1
