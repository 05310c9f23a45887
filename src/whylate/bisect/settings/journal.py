"""The directory of a bisection: its plan, a line for each made, and the recordings.

bisect.json         the plan
runs.jsonl        a line for each made, on disk before the next one begins
runs/NUMBER       the recordings
"""

from __future__ import annotations

from pathlib import Path

from whylate.bisect.settings.model import SCHEMA_VERSION, BisectPlan, MadeRun
from whylate.recording.store.lines import Layout, LineDirectory
from whylate.run.errors import RequestError

RUNS = "runs"
LAYOUT = Layout(
    what="bisection",
    plan="bisect.json",
    plan_type=BisectPlan,
    schema_version=SCHEMA_VERSION,
    lines="runs.jsonl",
    line_type=MadeRun,
    folder=RUNS,
)


class BisectJournal(LineDirectory[BisectPlan, MadeRun]):
    """The open directory of a bisection, locked for this process; append() is thread-safe.

    Raises RecordingError for a directory with other contents, RequestError for a bisection of
    another plan, and DiskError.
    """

    def __init__(self, directory: Path, plan: BisectPlan) -> None:
        super().__init__(directory, LAYOUT, plan)

    def must_be_same(self, held: BisectPlan) -> None:
        """Raise RequestError for another plan: only the most runs may change."""
        if _compared(held) != _compared(self.plan):
            raise RequestError(
                f"{self.directory} is a bisection of another plan: give the same plan to resume "
                "it, or choose another name with -o"
            )


def _compared(plan: BisectPlan) -> list[object]:
    return [plan.study, plan.statistic, plan.margin]


def read_bisection(directory: Path) -> tuple[BisectPlan, list[MadeRun]]:
    """Return the plan of a bisection and its runs so far; raises RecordingError."""
    return LAYOUT.read(directory)


def recording_path(number: int) -> str:
    """Return the path of a made's recording below the bisection's directory."""
    return f"{RUNS}/{number:04d}"
