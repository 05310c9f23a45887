"""Whose file is it? The tools are tried one after the other, by what only they write."""

from __future__ import annotations

import math
from pathlib import Path

from whylate.recording.imported import cyclictest, jitterdebugger, rtla, xenomai
from whylate.recording.imported.lines import json_object
from whylate.recording.imported.model import ImportedRun, InputError


def read_runs(path: Path) -> list[ImportedRun]:
    """Read the runs of a file of another tool, none where it is of none that is known.

    Raises InputError for one that is damaged.
    """
    try:
        found = _read(path)
    except (ValueError, OverflowError):
        found = None
    if found is None or not all(_sound(one) for one in found):
        raise InputError(f"{path} is damaged: a number in it is no time, or no count")
    return found


def _read(path: Path) -> list[ImportedRun]:
    document = json_object(path)
    if document is not None:
        one = cyclictest.read_json(path, document) or jitterdebugger.read_json(path, document)
        return [one] if one is not None else []
    runs = xenomai.read_text(path)
    if runs:
        return runs
    one = rtla.read_text(path) or cyclictest.read_text(path)
    return [one] if one is not None else []


def _sound(run: ImportedRun) -> bool:
    times = [one for one in (run.average_ns, run.max_ns) if one is not None]
    return all(math.isfinite(one) for one in times)
