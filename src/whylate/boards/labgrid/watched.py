"""The stream to a probe that ends, with a reason, when its board is lost or silent."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import threading
import time
from collections.abc import Callable

from whylate.boards.errors import BoardError
from whylate.probe.client import Stream

_POLL_S = 0.2
_PIECE = 1 << 16


class WatchedStream:
    """A stream with supervision. Implements whylate.probe.client.Stream.

    `loss` returns why the board is lost, or None. `silence_s`: a board without a byte for this
    long is considered dead (0: never); the probe answers every keepalive, so that it is silent
    only when the board or the line is gone. `hang_up` is called before a stream to a silent board
    is closed, because waiting for its end would be in vain.
    """

    def __init__(
        self,
        stream: Stream,
        loss: Callable[[], str | None],
        silence_s: float = 0.0,
        hang_up: Callable[[], None] | None = None,
    ) -> None:
        self._stream = stream
        self._loss = loss
        self._silence_s = silence_s
        self._hang_up = hang_up
        self._silent = False
        self._ours, self._theirs = socket.socketpair()
        self._stop = threading.Event()
        self._reason = ""
        self._thread = threading.Thread(target=self._relay, name="watched", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""
        return self._theirs.fileno()

    def read(self, size: int) -> bytes:
        """Return what has arrived; empty at the end, and then last_words() has the reason."""
        return self._theirs.recv(size)

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError when the other end is gone."""
        if self._reason:
            raise BrokenPipeError(errno.EPIPE, self._reason)
        self._stream.write(data)

    def last_words(self) -> bytes:
        """Return why the stream ended, where that is known."""
        if self._reason:
            return self._reason.encode()
        words = getattr(self._stream, "last_words", None)
        return bytes(words()) if callable(words) else b""

    def close(self) -> None:
        """Hang up; raises BoardError where that failed on a board that still answers."""
        if self._stop.is_set():
            return
        self._stop.set()
        # The relay may be waiting for a reader.
        with contextlib.suppress(OSError):
            self._theirs.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        try:
            if self._silent and self._hang_up is not None:
                self._hang_up()
            self._stream.close()
        except BoardError:
            if not self._reason:
                raise
        finally:
            self._theirs.close()

    def _relay(self) -> None:
        heard_at = time.monotonic()
        # select() raises ValueError for a closed stream.
        with self._ours, contextlib.suppress(OSError, ValueError):
            while not self._stop.is_set():
                ready, _, _ = select.select([self._stream.fileno()], [], [], _POLL_S)
                if ready:
                    data = self._stream.read(_PIECE)
                    if not data:
                        self._reason = self._loss() or ""
                        return
                    heard_at = time.monotonic()
                    self._ours.sendall(data)
                elif self._silence_s and time.monotonic() - heard_at > self._silence_s:
                    self._silent = True
                    self._reason = (
                        f"the board was silent for {self._silence_s:g} s: it died, or the "
                        "line to it broke"
                    )
                    return
                # Also while bytes flow: the board of a lost place may still answer.
                if (reason := self._loss()) is not None:
                    self._reason = reason
                    return
