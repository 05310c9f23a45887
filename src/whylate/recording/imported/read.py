"""Read the file of another tool: each tool is tried in turn."""

from __future__ import annotations

import math
from pathlib import Path

from whylate.recording.imported import cyclictest, jitterdebugger, rtla, xenomai
from whylate.recording.imported.lines import json_object
from whylate.recording.imported.model import ImportedRun, InputError


def read_runs(path: Path) -> list[ImportedRun]:
    """Read the runs of a file; an empty list where it is of no known tool.

    Raises InputError for a damaged file.
    """
    try:
        runs = _read(path)
    except (ValueError, OverflowError):
        runs = None
    if runs is None or not all(_sound(run) for run in runs):
        raise InputError(f"{path} is damaged: it has an invalid time or count")
    return runs


def _read(path: Path) -> list[ImportedRun]:
    document = json_object(path)
    if document is not None:
        run = cyclictest.read_json(path, document) or jitterdebugger.read_json(path, document)
        return [run] if run is not None else []
    runs = xenomai.read_text(path)
    if runs:
        return runs
    run = rtla.read_text(path) or cyclictest.read_text(path)
    return [run] if run is not None else []


def _sound(run: ImportedRun) -> bool:
    times = [time_ns for time_ns in (run.average_ns, run.max_ns) if time_ns is not None]
    return all(math.isfinite(time_ns) for time_ns in times)
