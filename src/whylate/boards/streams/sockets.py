"""A Unix socket as a stream."""

from __future__ import annotations

import socket
import time
from pathlib import Path

from whylate.boards.board import BoardError

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
