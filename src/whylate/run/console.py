"""Copy what a board's console prints into the recording while the board is measured."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whylate.boards.board import Console
from whylate.boards.console.sieve import FrameSieve
from whylate.recording.console.log import ConsoleWriter

#: The time between copies.
_COPY_S = 0.2
#: A mark that no board prints: the sieve works until finish().
NO_END = secrets.token_hex(16).encode()


@contextmanager
def copy_console(console: Console | None, directory: Path) -> Iterator[None]:
    """Copy a console's log into a recording for as long as the context lasts.

    The copy starts at the beginning of the log, which shows how the board booted. A board without a
    console has no copy. The recording notes what could not be written; raises DiskError at the end
    if even the note could not be.
    """
    if console is None:
        yield
        return
    # The probe's frames may share the console with its text; they are left out.
    sieve = FrameSieve(NO_END)
    framed = getattr(console, "framed", False)
    sift = (lambda data: sieve.feed(data)[1]) if framed else bytes
    with ConsoleWriter(directory, sift) as writer:
        stop = threading.Event()

        def follow() -> None:
            while not stop.wait(_COPY_S):
                if not writer.copy(console.log) and framed:
                    # The last text of a crashing board must not wait for the rest of a frame.
                    writer.add(sieve.idle())

        thread = threading.Thread(target=follow, name="console-copy", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            writer.copy(console.log)
            if framed:
                writer.add(sieve.finish()[1])
