"""The stream to a probe on a serial port of a virtual board."""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from pathlib import Path

from whylate.boards.board import BoardError
from whylate.boards.farewell import ASK_TO_END_S, LEAVE_S, Farewell
from whylate.boards.sockets import SocketStream

#: The probe ends when it has heard nothing for so long: a serial port does not hang up.
SERIAL_KEEPALIVE_S = 4.0
_LOOK_S = 0.2
#: The end of a frame; behind another one it is none, and nobody counts it.
_NOTHING = b"\0"
#: A port that needs it is sent a byte when it was sent none for so long.
NUDGE_S = 0.05


class SerialPortStream(SocketStream):
    """Ends the probe when it is closed, and waits for that.

    Else two of them would read from the port whenever the board is measured again at once. over:
    whether the probe has ended; raises BoardError where the board does not answer.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._farewell = Farewell()
        self._whole = threading.Lock()
        self._said_at = 0.0
        self._closing = threading.Event()
        self._nudger: threading.Thread | None = None
        self.over: Callable[[], bool] = lambda: True

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
                    os.write(self.fileno(), _NOTHING)  # it has a time limit, so this never waits
                except BlockingIOError:
                    continue  # there is enough on the way
                except OSError:
                    return  # it is gone, and whoever reads from it is told

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
        self._closing.set()
        if self._nudger is not None:
            self._nudger.join()
        super().close()
