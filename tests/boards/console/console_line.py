"""A serial line to a shell on this machine: a pty with a real shell behind it."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from whylate.boards.console.channel import DescriptorChannel
from whylate.boards.console.drain import DrainedConsole
from whylate.boards.console.shell import ConsoleShell

Change = Callable[[bytes], bytes]

SETSID = shutil.which("setsid") or "setsid"
#: The board's side: a minimal one, Debian's, and a server's.
BUSYBOX = shutil.which("busybox")
#: A worker has its directory in one of these.
HOMES = tuple(Path(place) for place in ("/run", "/dev/shm", "/tmp", "/var/tmp"))  # noqa: S108
SHELLS = {
    "dash": ["dash", "-i"],
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "busybox": [BUSYBOX or "busybox", "ash", "-i"],
}


def unchanged(data: bytes) -> bytes:
    return data


class ChangedChannel:
    """A channel that passes through something that changes its bytes."""

    def __init__(self, fd: int) -> None:
        self._inner = DescriptorChannel(fd)
        #: All that the host has typed.
        self.written = b""
        self.up: Change = unchanged
        self.down: Change = unchanged

    def read(self, timeout_s: float) -> bytes:
        return self.down(self._inner.read(timeout_s))

    def write(self, data: bytes) -> None:
        self.written += data
        self._inner.write(self.up(data))

    def close(self) -> None:
        self._inner.close()


class Line:
    """A board's serial line: a program on a terminal, and the console that drains it."""

    def __init__(self, command: list[str], log: Path, env: dict[str, str] | None = None) -> None:
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        #: Kept open: a serial port does not hang up when its last user leaves.
        self.slave = slave
        # As a child's own first act, TIOCSCTTY would need code of ours after a fork, with whatever
        # the libraries of other tests have hung into that.
        self.process = subprocess.Popen(
            [SETSID, "--ctty", *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={
                "PATH": (env or {}).get("PATH", os.environ["PATH"]),
                "PS1": "board# ",
                "HOME": "/nonexistent",
            }
            | (env or {}),
        )
        self.channel = ChangedChannel(self.master)
        self.console = DrainedConsole(self.channel, log)

    def terminal(self) -> list[object]:
        return list(termios.tcgetattr(self.slave))

    def close(self) -> None:
        """Hang up, as a board that is switched off does, and wait until everybody has gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGCONT)
        self.console.close()
        deadline = time.monotonic() + 3
        while session(self.process.pid) and time.monotonic() < deadline:
            self.process.poll()
            time.sleep(0.01)
        for pid in session(self.process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(10)
        os.close(self.slave)


def opened(line: Line) -> ConsoleShell:
    """Return a shell at work over the line."""
    shell = ConsoleShell(line.console.connect())
    shell.open(30)
    return shell


def leftovers(line: Line) -> list[Path]:
    """Return the directories that are there of the workers that were typed in on a line."""
    names = {name.decode() for name in re.findall(rb"\.whylate-\w+", line.channel.written)}
    return [home / name for home in HOMES for name in names if (home / name).exists()]


def session(leader: int) -> list[int]:
    """Return the processes of a session that still run."""
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, sid = stat.read_text().rpartition(")")[2].split()[:4]
            if int(sid) == leader and state != "Z":
                pids.append(int(stat.parent.name))
    return pids


@contextmanager
def shell_on_a_line(
    command: list[str], log: Path, env: dict[str, str] | None = None
) -> Iterator[Line]:
    line = Line(command, log, env)
    try:
        yield line
    finally:
        line.close()
