"""Exit statuses of recordings, and printing a run that was just made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from whylate.cli.messages import print_message

if TYPE_CHECKING:
    from whylate.run.several import Outcome

#: Exit status for each verdict on requirements, or on the run without any.
STATUS = {"pass": 0, "fail": 1, "inconclusive": 3, "no verdict": 3}
#: A failed requirement stays failed, whatever else is unknown.
_FROM_BEST_TO_WORST = (0, 3, 1)


def worst_status(*statuses: int) -> int:
    """Return the worst of exit statuses."""
    return max(statuses, key=_FROM_BEST_TO_WORST.index)


def show_single(outcome: Outcome, show: Callable[[Path], int]) -> int:
    """Print the only run that was made; return the exit status.

    show: prints the recording in a directory. Raises the run's error if there is no recording.
    """
    if not outcome.recorded and outcome.error is not None:
        raise outcome.error
    status = show(outcome.job.directory)
    if outcome.error is not None:
        print_message(str(outcome.error))
        status = worst_status(status, STATUS["no verdict"])
    return status
