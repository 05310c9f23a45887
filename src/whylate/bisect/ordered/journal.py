"""The directory of a bisection of an ordered history.

steps.jsonl         a line for each run, and for each version that cannot be built or run
runs/NUMBER         the recordings
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from whylate.bisect.ordered.model import OrderedPlan, Step
from whylate.recording.store.lines import Layout, LineDirectory
from whylate.run.errors import RequestError

RUNS = "runs"
LINES = "steps.jsonl"
P = TypeVar("P", bound=OrderedPlan)


class OrderedJournal(LineDirectory[P, Step]):
    """The open directory, locked for this process.

    Raises RecordingError for a directory with other contents, RequestError for another plan, and
    DiskError.
    """

    def __init__(self, directory: Path, layout: Layout[P, Step], plan: P) -> None:
        super().__init__(directory, layout, plan)

    def must_be_same(self, held: P) -> None:
        """Raise RequestError for another plan: only when it ends may change."""
        same_end = msgspec.structs.replace(
            held, runs=self.plan.runs, confidence=self.plan.confidence
        )
        if same_end != self.plan:
            raise RequestError(
                f"{self.directory} is a bisection with another plan: give the same one to resume "
                "it, or choose another name with -o"
            )
