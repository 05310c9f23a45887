"""What a board's console prints while it is measured, kept with the recording as it comes."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whylate.boards.board import Board
from whylate.boards.console.sieve import FrameSieve
from whylate.recording.console.log import ConsoleWriter

#: How often the log is looked at.
LOOK_S = 0.2
#: No text that a board prints ends the sifting.
NO_END = secrets.token_hex(16).encode()


@contextmanager
def copy_console(board: Board, directory: Path) -> Iterator[None]:
    """Copy a board's console log into a recording for as long as the context lasts.

    From the beginning of the log on, for what a board said when it booted is part of what it is.
    Nothing is done for a board without a console. What could not be kept is told in the recording;
    raises DiskError at the end where not even that could be written.
    """
    console = board.console
    if console is None:
        yield
        return
    # Frames that share the console with its text are not what it printed.
    sieve = FrameSieve(NO_END)
    framed = getattr(console, "framed", False)
    sift = (lambda data: sieve.feed(data)[1]) if framed else bytes
    with ConsoleWriter(directory, sift) as writer:
        stop = threading.Event()

        def follow() -> None:
            while not stop.wait(LOOK_S):
                if not writer.copy(console.log) and framed:
                    # What a dying board said last waits for no frame.
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
