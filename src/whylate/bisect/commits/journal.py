"""The directory of a bisection of commits.

commits.json        the plan
steps.jsonl         a line for each run, and for each commit that cannot be built
runs/NUMBER         the recordings
builds/COMMIT       what was built, and COMMIT.log, what the build printed
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from whylate.bisect.commits.model import SCHEMA_VERSION, CommitsPlan
from whylate.bisect.ordered.carry_out import RUNS
from whylate.bisect.ordered.model import Step
from whylate.recording.store.lines import Layout, LineDirectory
from whylate.run.errors import RequestError

LAYOUT = Layout(
    what="bisection of commits",
    plan="commits.json",
    plan_type=CommitsPlan,
    schema_version=SCHEMA_VERSION,
    lines="steps.jsonl",
    line_type=Step,
    folder=RUNS,
)
#: Keys of a plan that may change when it is resumed.
_MAY_CHANGE = {"runs": 0, "confidence": 0.0}


class CommitsJournal(LineDirectory[CommitsPlan, Step]):
    """The open directory, locked for this process.

    Raises RecordingError for a directory with other contents, RequestError for another plan, and
    DiskError.
    """

    def __init__(self, directory: Path, plan: CommitsPlan) -> None:
        super().__init__(directory, LAYOUT, plan)

    def must_be_same(self, held: CommitsPlan) -> None:
        """Raise RequestError for another plan."""
        ours, theirs = (msgspec.structs.replace(p, **_MAY_CHANGE) for p in (self.plan, held))
        if ours != theirs:
            raise RequestError(
                f"{self.directory} is a bisection with another plan: give the same one to resume "
                "it, or choose another name with -o"
            )
