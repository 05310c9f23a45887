"""The stream to a command that is a child process of ours."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

#: How long the probe may take to put everything back after the line was hung up.
LEAVE_S = 30.0


class ProcessStream:
    """The stream to a child process: its input and its output."""

    def __init__(self, command: Sequence[str]) -> None:
        # A session of its own: Ctrl-C at the terminal is for the host, which then says stop.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._process.stdin is not None  # noqa: S101 - both are pipes
        assert self._process.stdout is not None  # noqa: S101
        self._in = self._process.stdin
        self._out = self._process.stdout

    @property
    def pid(self) -> int:
        """The probe's process id."""
        return self._process.pid

    def fileno(self) -> int:
        """Return the descriptor of the probe's output."""
        return self._out.fileno()

    def read(self, size: int) -> bytes:
        """Return what the probe has said, empty when it is gone."""
        return os.read(self._out.fileno(), size)

    def write(self, data: bytes) -> None:
        """Say something to the probe; raises OSError when it is gone."""
        view = memoryview(data)
        while view:
            view = view[os.write(self._in.fileno(), view) :]

    def close(self) -> None:
        """Hang up and wait until the probe has left the board as it was."""
        self._in.close()
        try:
            self._process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._out.close()
