"""The line and the exit status of an error that ended a verb."""

from __future__ import annotations

import sys
from typing import NoReturn

from whylate.boards.errors import BoardError
from whylate.lab.errors import LabError
from whylate.probe.errors import ProbeError
from whylate.recording.errors import DiskError, LackingError, RecordingError
from whylate.run.errors import RequestError
from whylate.text import plain


def exit_with(error: Exception) -> NoReturn:
    """Print one line about an error and exit; a defect of ours has its traceback before it."""
    match error:
        case BoardError() | LabError() | ProbeError() | DiskError() | LackingError():
            _fail(str(error), 3)
        case RequestError() | RecordingError():
            _fail(str(error), 2)
        # A name that a verb did not expect to fail.
        case OSError(filename=name) if name is not None:
            _fail(f"{name} cannot be used: {error.strerror}", 2)
        case UnicodeEncodeError():
            _fail(f"{error.object} cannot be used: its name is not UTF-8", 2)
        case _:  # it is no failed requirement, which is 1
            _print_defect(error)


def _print_defect(error: Exception) -> NoReturn:
    import traceback

    traceback.print_exception(error)
    _fail(f"this is a defect of whylate, please report it: {type(error).__name__}", 3)


def _fail(text: str, status: int) -> NoReturn:
    sys.stderr.write(f"whylate: {plain(text, 1000)}\n")
    sys.exit(status)
