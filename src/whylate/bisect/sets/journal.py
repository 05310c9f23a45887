"""The directory of a bisection of a set of differences: its plan, its runs, their recordings.

runs.jsonl        a line for each run, on disk before the next one begins
runs/NUMBER       the recordings
untestable/NUMBER what runs of untestable hybrids left: the console's log
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from whylate.bisect.sets.model import MadeRun, SetsPlan
from whylate.recording.store.lines import Layout, LineDirectory
from whylate.run.errors import RequestError

RUNS = "runs"
LINES = "runs.jsonl"
UNTESTABLE = "untestable"
P = TypeVar("P", bound=SetsPlan)


class SetsJournal(LineDirectory[P, MadeRun]):
    """The open directory of a bisection, locked for this process; append() is thread-safe.

    Raises RecordingError for a directory with other contents, RequestError for a bisection of
    another plan, and DiskError.
    """

    def __init__(self, directory: Path, layout: Layout[P, MadeRun], plan: P) -> None:
        super().__init__(directory, layout, plan)

    def must_be_same(self, held: P) -> None:
        """Raise RequestError for another plan: only the most runs may change."""
        if msgspec.structs.replace(held, runs=self.plan.runs) != self.plan:
            raise RequestError(
                f"{self.directory} is a bisection of another plan: give the same plan to resume "
                "it, or choose another name with -o"
            )


def recording_path(number: int) -> str:
    """Return the path of a run's recording below the bisection's directory."""
    return f"{RUNS}/{number:04d}"
