"""A line that damages bytes, between a probe that really runs and the host's client."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Callable

import numpy as np

#: What a relay does with the bytes that it carries; called by one thread only.
Change = Callable[[bytes], bytes]


def unchanged(data: bytes) -> bytes:
    return data


class Noise:
    """Replaces each byte with another one with probability `rate`, which may be moved."""

    def __init__(self, seed: int, rate: float) -> None:
        self._random = np.random.default_rng(seed)
        self.rate = rate
        self.bytes = 0
        self.changed = 0

    def __call__(self, data: bytes) -> bytes:
        raw = np.frombuffer(data, np.uint8).copy()
        hit = np.flatnonzero(self._random.random(raw.size) < self.rate)
        raw[hit] ^= self._random.integers(1, 256, hit.size, dtype=np.uint8)
        self.bytes += raw.size
        self.changed += hit.size
        return raw.tobytes()


class RelayedStream:
    """The client's stream to a program whose input and output go through relays.

    `up` changes what goes to the program, `down` what comes from it.
    """

    def __init__(self, command: list[str], up: Change, down: Change) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._socket, self._far = socket.socketpair()
        self._threads = [
            threading.Thread(target=self._carry_up, args=(self.process.stdin.fileno(), up)),
            threading.Thread(target=self._carry_down, args=(self.process.stdout.fileno(), down)),
        ]
        for thread in self._threads:
            thread.start()

    def _carry_up(self, stdin: int, change: Change) -> None:
        with contextlib.suppress(OSError):
            while data := self._far.recv(1 << 16):
                view = memoryview(change(data))
                while view:
                    view = view[os.write(stdin, view) :]
        with contextlib.suppress(OSError):
            self.process.stdin.close()  # type: ignore[union-attr]

    def _carry_down(self, stdout: int, change: Change) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(stdout, 4096):
                self._far.sendall(change(data))
        with contextlib.suppress(OSError):
            self._far.shutdown(socket.SHUT_WR)

    def fileno(self) -> int:
        return self._socket.fileno()

    def read(self, size: int) -> bytes:
        return self._socket.recv(size)

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def close(self) -> None:
        """Hang up, and wait until the program has ended by itself."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        try:
            self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            # What the program said last may still be in the socket: let the relays run dry.
            self._socket.close()
            for thread in self._threads:
                thread.join()
            self._far.close()
            self.process.stdout.close()  # type: ignore[union-attr]
