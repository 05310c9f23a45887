"""The directory of a bisection of settings: bisect.json is its plan."""

from __future__ import annotations

from pathlib import Path

from whylate.bisect.sets.journal import LINES, RUNS
from whylate.bisect.sets.model import MadeRun
from whylate.bisect.settings.model import SCHEMA_VERSION, BisectPlan, from_former
from whylate.recording.store.lines import Layout

LAYOUT = Layout(
    what="bisection",
    plan="bisect.json",
    plan_type=BisectPlan,
    schema_version=SCHEMA_VERSION,
    lines=LINES,
    line_type=MadeRun,
    folder=RUNS,
    convert=from_former,
)


def read_bisection(directory: Path) -> tuple[BisectPlan, list[MadeRun]]:
    """Return the plan of a bisection and its runs so far; raises RecordingError."""
    return LAYOUT.read(directory)
