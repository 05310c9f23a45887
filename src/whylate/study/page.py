"""A study's page: for each board and load its verdicts, and what they rest on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from whylate.recording.errors import DiskError
from whylate.report.comparison_page import Group, render, write
from whylate.study.evidence import Evidence
from whylate.study.model import Done, StudyPlan

PAGE = "report.html"


def write_page(directory: Path, plan: StudyPlan, evidence: Evidence, done: Sequence[Done]) -> Path:
    """Write the page into the study's directory and return it; raises RecordingError, DiskError."""
    groups = []
    for board in plan.boards:
        standings = [evidence.of(key, done) for key in evidence.keys(board)]
        for load in plan.loads:
            found = [one.found for one in standings if one.key.load == load.name and one.found]
            arms = evidence.arms(board, load.name, done)
            if arms:
                groups.append(Group(f"{board}, {load.name}", arms, found))
    variants = [f"{one.name}: {_knobs(one.knobs)}" for one in plan.variants]
    made = max((one.started for one in done), default="")
    path = directory / PAGE
    try:
        write(path, render(f"Study {directory.name}", variants, made, groups))
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None
    return path


def _knobs(knobs: dict[str, str]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in knobs.items()) or "as found"
