"""Read the file of another tool: each tool is tried in turn."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from whylate.recording.imported.lines import json_documents
from whylate.recording.imported.model import ImportedRun, InputError
from whylate.recording.imported.tools import cyclictest, jitterdebugger, rtla_timerlat, xenomai

#: Each returns the run of a document of its tool, None of any other's.
_JSON: tuple[Callable[[Path, dict[str, Any]], ImportedRun | None], ...] = (
    cyclictest.read_json,
    jitterdebugger.read_json,
)
#: Each returns the runs of a file of its tool, none of any other's.
_TEXT: tuple[Callable[[Path], list[ImportedRun]], ...] = (
    xenomai.read_text,
    rtla_timerlat.read_text,
    cyclictest.read_text,
)


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
    documents = json_documents(path)
    if documents:
        read = [_of_document(path, document) for document in documents]
        runs = [run for run in read if run is not None]
        return runs if len(runs) == len(documents) else []
    return next((runs for read in _TEXT if (runs := read(path))), [])


def _of_document(path: Path, document: dict[str, Any] | list[Any]) -> ImportedRun | None:
    if not isinstance(document, dict):
        return None
    return next((run for read in _JSON if (run := read(path, document)) is not None), None)


def _sound(run: ImportedRun) -> bool:
    times = [time_ns for time_ns in (run.average_ns, run.max_ns) if time_ns is not None]
    return all(math.isfinite(time_ns) for time_ns in (*times, *dict(run.quantiles_ns).values()))
