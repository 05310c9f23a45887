"""What a board's console prints while it is measured, kept with the recording as it comes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whylate.boards.board import Board
from whylate.recording.console import ConsoleWriter

#: How often the log is looked at.
LOOK_S = 0.2


@contextmanager
def console_kept(board: Board, directory: Path) -> Iterator[None]:
    """Copy a board's console log into a recording for as long as the context lasts.

    From the beginning of the log on, for what a board said when it booted is part of what it is.
    Nothing is done for a board without a console. Raises DiskError at the end where the copy
    could not be written.
    """
    console = board.console
    if console is None:
        yield
        return
    with ConsoleWriter(directory) as writer:
        stop = threading.Event()

        def follow() -> None:
            while not stop.wait(LOOK_S):
                writer.copy(console.log)

        thread = threading.Thread(target=follow, name="console-copy", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            writer.copy(console.log)
