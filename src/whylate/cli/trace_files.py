"""Opening the trace of another tool."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from whylate.recording.errors import RecordingError


@contextmanager
def open_trace(file: str, instead: str) -> Iterator[BinaryIO]:
    """Open a trace, - for the standard input; raises RecordingError where that fails.

    instead: what to do with a directory.
    """
    source = nullcontext(sys.stdin.buffer) if file == "-" else None
    try:
        with source or Path(file).open("rb") as stream:
            yield stream
    except IsADirectoryError:
        raise RecordingError(f"{file} is a directory: {instead}") from None
    except OSError as error:
        raise RecordingError(f"{file} cannot be read: {os.strerror(error.errno or 0)}") from None


def trace_name(file: str) -> str:
    """Return what messages call a trace that open_trace() opens."""
    return "the standard input" if file == "-" else file
