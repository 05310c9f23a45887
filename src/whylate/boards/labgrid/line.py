"""A labgrid console driver as a channel."""

from __future__ import annotations

import inspect
import threading
import time
from collections import deque
from typing import Any

from whylate.boards.console.channel import STUCK_S

#: How many of the latest bytes are kept, to distinguish text from the noise of an open line.
_LATEST = 256


class DriverChannel:
    """A ConsoleProtocol driver that is active. Implements whylate.boards.console.channel.Channel.

    The driver's methods are called without labgrid's step bookkeeping, which is one stack for all
    threads: the drain reads while others switch the board's power.
    """

    def __init__(self, driver: Any) -> None:
        self._driver = driver
        #: labgrid's serial driver sets the timeout at each read, and over RFC 2217 that
        #: renegotiates the line: 50 ms each time. So the port is used directly.
        self._serial = getattr(driver, "serial", None)
        self._timeout: type[Exception] = _timeout_error()
        self._read = _without_steps(driver, "read")
        self._write = _without_steps(driver, "write")
        self._lock = threading.Lock()
        self._latest: deque[int] = deque(maxlen=_LATEST)
        self.received = 0
        self._closed = False
        if self._serial is not None:
            try:
                self._serial.write_timeout = STUCK_S
            except NotImplementedError:
                # RFC 2217 has none; its socket has.
                self._serial._write_timeout = None

    def read(self, timeout_s: float) -> bytes:
        """Return what has arrived, empty after timeout_s; raises OSError."""
        if self._closed:
            raise EOFError
        if self._serial is not None:
            data = self._read_serial(timeout_s)
        else:
            try:
                data = self._read(self._driver, timeout=timeout_s)
            except self._timeout:
                data = b""
        self.received += len(data)
        self._latest.extend(data)
        return bytes(data)

    def _read_serial(self, timeout_s: float) -> bytes:
        port = self._serial
        assert port is not None  # noqa: S101
        try:
            if port.timeout != timeout_s:
                port.timeout = timeout_s
            return bytes(port.read(max(1, port.in_waiting)))
        except (TypeError, AttributeError, ValueError):
            # What pyserial raises when another thread has closed the port.
            raise EOFError from None

    def write(self, data: bytes) -> None:
        """Send all of data; raises OSError where the line accepts nothing."""
        with self._lock:
            deadline = time.monotonic() + STUCK_S
            view = memoryview(data)
            while view:
                sent = self._send(bytes(view))
                if sent:
                    deadline = time.monotonic() + STUCK_S
                    view = view[sent:]
                elif time.monotonic() > deadline:
                    raise TimeoutError("the line accepts nothing")

    def _send(self, data: bytes) -> int:
        try:
            sent = self._write(self._driver, data)
        except self._timeout:
            return 0
        except (TypeError, AttributeError, ValueError):
            raise BrokenPipeError("the console's line is closed") from None
        return len(data) if sent is None else int(sent)

    def close(self) -> None:
        """Stop reading; the driver stays active."""
        self._closed = True

    def has_text(self) -> bool:
        """Return whether the latest bytes are text, not the noise of an undriven line."""
        latest = bytes(self._latest)
        text = sum(byte in b"\r\n\t\x1b" or 0x20 <= byte < 0x7F for byte in latest)
        return bool(latest) and text >= 0.9 * len(latest)

    def clear(self) -> None:
        """Drop the bytes that has_text() examines."""
        self._latest.clear()


def _timeout_error() -> type[Exception]:
    import pexpect

    error: type[Exception] = pexpect.TIMEOUT
    return error


def _without_steps(driver: Any, name: str) -> Any:
    return inspect.unwrap(getattr(type(driver), name))
