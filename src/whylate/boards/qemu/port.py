"""The stream to a probe on a serial port of a virtual board."""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from pathlib import Path

from whylate.boards.board import BoardError
from whylate.boards.farewell import ASK_TO_END_S, LEAVE_S, Farewell
from whylate.boards.sockets import SocketStream

#: The probe ends when it has heard nothing for so long: a serial port does not hang up.
SERIAL_KEEPALIVE_S = 4.0
_LOOK_S = 0.2


class SerialPortStream(SocketStream):
    """Ends the probe when it is closed, and waits for that.

    Else two of them would read from the port whenever the board is measured again at once. over:
    whether the probe has ended; raises BoardError where the board does not answer.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._farewell = Farewell()
        self.over: Callable[[], bool] = lambda: True

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError."""
        self._farewell.sent(data)
        super().write(data)

    def close(self) -> None:
        """Have the probe put everything back and end, and hang up."""
        deadline = time.monotonic() + SERIAL_KEEPALIVE_S + LEAVE_S
        ask_at = 0.0
        try:
            while self.fileno() >= 0 and not self.over() and time.monotonic() < deadline:
                if time.monotonic() >= ask_at:
                    super().write(self._farewell.words())
                    ask_at = time.monotonic() + ASK_TO_END_S
                # What it still says is dropped: it could not end while nobody takes it.
                if select.select([self.fileno()], [], [], _LOOK_S)[0] and not self.read(1 << 16):
                    break
        except (OSError, BoardError):
            pass  # a board that is dead ends nothing, and its next use says so
        super().close()
