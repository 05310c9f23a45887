"""whylate on a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time

from processes import lives


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "whylate", *words]


class Terminal:
    """A process on a terminal of 100 columns and 40 lines, and all that it printed."""

    def __init__(self, *words: str) -> None:
        self.pid, self._fd = pty.fork()
        if not self.pid:
            # The size before the first look at it.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
            os.execv(sys.executable, command(*words))  # noqa: S606
        self.before = termios.tcgetattr(self._fd)
        self.printed = b""

    @property
    def settings(self) -> list[object]:
        return termios.tcgetattr(self._fd)

    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.printed.decode(errors="replace"))

    def read_until(self, pattern: str, seconds: float = 40.0) -> re.Match[str]:
        deadline = time.monotonic() + seconds
        while (found := re.search(pattern, self.text())) is None:
            assert time.monotonic() < deadline, self.text()[-3000:]
            assert self._read(0.2), self.text()[-3000:]
        return found

    def _read(self, seconds: float) -> bool:
        if not select.select([self._fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            return False
        self.printed += data
        return bool(data)

    def type(self, keys: bytes) -> None:
        os.write(self._fd, keys)

    def status(self) -> int:
        """Wait for the end, and return the exit status."""
        while self._read(1.0) and lives(self.pid):
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self._fd)
        return status
