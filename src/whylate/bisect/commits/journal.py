"""The directory of a bisection of commits.

commits.json        the plan
builds/COMMIT       what was built, and COMMIT.log, what the build printed
"""

from __future__ import annotations

from whylate.bisect.commits.model import SCHEMA_VERSION, CommitsPlan
from whylate.bisect.ordered.journal import LINES, RUNS
from whylate.bisect.ordered.model import Step
from whylate.recording.store.lines import Layout

LAYOUT = Layout(
    what="bisection of commits",
    plan="commits.json",
    plan_type=CommitsPlan,
    schema_version=SCHEMA_VERSION,
    lines=LINES,
    line_type=Step,
    folder=RUNS,
)
