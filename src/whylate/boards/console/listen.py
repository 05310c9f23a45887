"""The recent text of a console, in which an answer is awaited."""

from __future__ import annotations

import re
import select
import time

from whylate.boards.console.drain import ConsoleStream
from whylate.boards.errors import BoardError

#: More than any answer; earlier text is dropped (the log has it).
KEPT_BYTES = 256 << 10
_KERNEL_LINE = re.compile(rb"(?:<\d{1,2}>)?\[ {0,10}\d{1,10}\.\d{6}\][^\n]*\n")
_ANSI = re.compile(rb"\x1b(?:\[[0-9;?]{0,16}[A-Za-z]|[()][AB012]|[=>78])")

#: An answer of our own shell there (worker.py), or the beginning of one: no word of the board's.
_ANSWER = re.compile(rb"<([0-9a-f]{10})\|[^|<>]*(?:\|\1>)?")


class Listener:
    """The text that came over a console since it was last cleared."""

    def __init__(self, stream: ConsoleStream) -> None:
        self._stream = stream
        self._kept = bytearray()
        #: The last lines of all that came before clear().
        self._before = b""

    def wait(self, timeout_s: float) -> bool:
        """Wait for bytes and keep them; return whether any came. Raises BoardError at the end."""
        try:
            ready, _, _ = select.select([self._stream.fileno()], [], [], max(timeout_s, 0.0))
            if not ready:
                return False
            data = self._stream.read(1 << 16)
        except (OSError, ValueError):
            # Another thread has closed the stream.
            data = b""
        if not data:
            raise BoardError(f"the console's line is gone{self.last_words()}")
        self._kept += data
        del self._kept[:-KEPT_BYTES]
        return True

    def wait_until_silent(self, silence_s: float, deadline: float) -> None:
        """Keep what comes until there is silence for that long, or the deadline has passed."""
        while (left := deadline - time.monotonic()) > 0 and self.wait(min(silence_s, left)):
            pass

    def clear(self) -> None:
        """Drop the text so far."""
        self._before = bytes((self._before + self._kept)[-1000:])
        self._kept.clear()

    def raw(self) -> bytes:
        """Return the text."""
        return bytes(self._kept)

    def without_kernel(self) -> bytes:
        """Return the text without the kernel's lines."""
        return _KERNEL_LINE.sub(b"", bytes(self._kept))

    def last_line(self) -> str:
        """Return the unfinished last line, where a prompt stands, in printable ASCII."""
        text = _ANSI.sub(b"", self.without_kernel()[-2000:])
        return _plain(text[text.rfind(b"\n") + 1 :].split(b"\r")[-1])

    def last_words(self) -> str:
        """Return the last line as the end of an error message."""
        text = _ANSI.sub(b"", self._before + bytes(self._kept[-2000:]))
        text = _ANSWER.sub(b"", text)
        lines = [plain for line in text.splitlines() if (plain := _plain(line).strip())]
        return f"; its last line is {lines[-1][:200]!r}" if lines else "; it is silent"


def _plain(text: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "?" for byte in text if byte not in b"\r")
