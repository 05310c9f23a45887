"""The stream to a probe that ends, with a reason, when its board is lost or says nothing more."""

from __future__ import annotations

import contextlib
import errno
import select
import socket
import threading
import time
from collections.abc import Callable

from whylate.boards.board import BoardError
from whylate.probe.client import Stream

_LOOK_S = 0.2
_PIECE = 1 << 16


class WatchedStream:
    """A stream that somebody watches. Implements whylate.probe.client.Stream.

    `trouble` says why the board is lost, or None. `silence_s`: without a byte for so long the
    board is taken for dead; the probe answers every word that keeps it alive, so that it is
    silent only when the board or the line is gone. 0: never. `hang_up` is called before a stream
    to a silent board is closed: there is nobody left to part from, and waiting would be in vain.
    """

    def __init__(
        self,
        stream: Stream,
        trouble: Callable[[], str | None],
        silence_s: float = 0.0,
        hang_up: Callable[[], None] | None = None,
    ) -> None:
        self._stream = stream
        self._trouble = trouble
        self._silence_s = silence_s
        self._hang_up = hang_up
        self._silent = False
        self._ours, self._theirs = socket.socketpair()
        self._stop = threading.Event()
        self._why = ""
        self._thread = threading.Thread(target=self._relay, name="watched", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """Return the descriptor that becomes readable when bytes arrive."""
        return self._theirs.fileno()

    def read(self, size: int) -> bytes:
        """Return what has arrived; empty at the end, and then last_words() says why."""
        return self._theirs.recv(size)

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError when the other end is gone."""
        if self._why:
            raise BrokenPipeError(errno.EPIPE, self._why)
        self._stream.write(data)

    def last_words(self) -> bytes:
        """Return why the stream ended, where we know."""
        if self._why:
            return self._why.encode()
        words = getattr(self._stream, "last_words", None)
        return bytes(words()) if callable(words) else b""

    def close(self) -> None:
        """Hang up; raises BoardError where that failed on a board that still spoke."""
        if self._stop.is_set():
            return
        self._stop.set()
        # A relay that waits for a reader must not wait any longer.
        with contextlib.suppress(OSError):
            self._theirs.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        try:
            if self._silent and self._hang_up is not None:
                self._hang_up()
            self._stream.close()
        except BoardError:
            if not self._why:
                raise
        finally:
            self._theirs.close()

    def _relay(self) -> None:
        heard = time.monotonic()
        # ValueError: what select() says of a stream that somebody has closed.
        with self._ours, contextlib.suppress(OSError, ValueError):
            while not self._stop.is_set():
                ready, _, _ = select.select([self._stream.fileno()], [], [], _LOOK_S)
                if ready:
                    data = self._stream.read(_PIECE)
                    if not data:
                        self._why = self._trouble() or ""
                        return
                    heard = time.monotonic()
                    self._ours.sendall(data)
                elif self._silence_s and time.monotonic() - heard > self._silence_s:
                    self._silent = True
                    self._why = (
                        f"the board has said nothing for {self._silence_s:g} s: it died, or the "
                        "line to it broke"
                    )
                    return
                # Also while bytes flow: a place may be lost and its board still speak.
                if (why := self._trouble()) is not None:
                    self._why = why
                    return
