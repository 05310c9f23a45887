"""Signs of life: whether a board is on, whatever its supply reports."""

from __future__ import annotations

import contextlib
import socket
import time
from pathlib import Path

from whylate.boards.facts.reading import clean
from whylate.boards.labgrid.line import DriverChannel

#: A board without power may still finish a line; and an answer to Enter comes within this.
ECHO_S = 0.7
#: How long a server in the same lab may take to send its banner.
GREETING_S = 1.0
_TAIL = 1000


def find_life(channel: DriverChannel | None, address: tuple[str, int] | None) -> str | None:
    """Return the sign that the board is on, or None: it may be off, or hang.

    Types Enter on the console: an idle shell, or a login prompt, answers.
    """
    if greets(address):
        return "its SSH server still answers"
    if channel is None:
        return None
    time.sleep(ECHO_S)
    before = channel.received
    channel.clear()
    with contextlib.suppress(OSError):
        channel.write(b"\r")
    time.sleep(ECHO_S)
    if channel.received > before and channel.has_text():
        return "its console still answers"
    return None


def greets(address: tuple[str, int] | None) -> bool:
    """Return whether an SSH server sends its banner. A forwarded port may accept without one."""
    if address is None:
        return False
    with (
        contextlib.suppress(OSError),
        socket.create_connection(address, GREETING_S) as connection,
    ):
        connection.settimeout(GREETING_S)
        return connection.recv(4) == b"SSH-"
    return False


def last_words(log: Path | None) -> str:
    """Return the end of a console's log as the end of an error message, safe to show."""
    if log is None:
        return ""
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - _TAIL))
        lines = file.read(_TAIL).decode("utf-8", "replace").splitlines()
        words = [shown for line in lines if (shown := clean(line, 120))]
        if words:
            return f"; its console's last words: {' | '.join(words[-3:])}"
    return "; its console printed nothing"
