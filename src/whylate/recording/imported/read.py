"""Read the file of another tool: each tool is tried in turn."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from whylate.recording.imported.lines import json_documents
from whylate.recording.imported.model import MOST_ACTIVATIONS, MOST_NS, ImportedRun, InputError
from whylate.recording.imported.rows import list_text, short
from whylate.recording.imported.signs import find_signs
from whylate.recording.imported.tools import (
    cyclictest,
    fio,
    histogram_table,
    hwlatdetect,
    jitterdebugger,
    perf_sched,
    rtla_hist,
    rtla_top,
    schbench,
    xenomai,
)

#: Each returns the run of a document of its tool, None of any other's.
_JSON: tuple[Callable[[Path, dict[str, Any]], ImportedRun | None], ...] = (
    cyclictest.read_json,
    jitterdebugger.read_json,
)
#: By the name of its sign: the pattern of a line, and what returns the runs of a file.
_TEXT: dict[str, tuple[str, Callable[[Path], list[ImportedRun]]]] = {
    "xenomai": (xenomai.SIGN, xenomai.read_text),
    "rtla": (rtla_hist.SIGN, rtla_hist.read_text),
    "rtla_top": (rtla_top.SIGN, rtla_top.read_text),
    "hwlatdetect": (hwlatdetect.SIGN, hwlatdetect.read_text),
    "schbench": (schbench.SIGN, schbench.read_text),
    "perf_sched": (perf_sched.SIGN, perf_sched.read_text),
    "jitterdebugger": (jitterdebugger.SIGN, jitterdebugger.read_text),
    "cyclictest": (cyclictest.SIGN, cyclictest.read_text),
}
_SIGNS = {name: sign for name, (sign, _) in _TEXT.items()}


def read_runs(path: Path, unit: str = "") -> list[ImportedRun]:
    """Read the runs of a file; an empty list where it is of no known tool.

    unit: of a histogram that is a table without one. Raises InputError for a damaged file.
    """
    try:
        runs = _read(path, unit)
    except (ValueError, OverflowError):
        runs = None
    if runs is None or not all(_sound(run) for run in runs):
        raise InputError(f"{path} is damaged: it has an invalid time or count")
    return runs


def select_runs(path: Path, column: str | None, unit: str) -> list[ImportedRun]:
    """Return the runs of a file, those of one name where column names it; empty: of numbers.

    unit: as the user states it, for numbers, and for a histogram that is a table without a unit.
    Raises InputError.
    """
    heading = histogram_table.latency_heading(path) if column is not None else None
    if heading is not None:
        if column in ("1", heading):
            raise InputError(f"{path} is a histogram, a latency and its count a row: it is read as "
                             "one without --column")  # fmt: skip
        return []
    runs = read_runs(path, unit)
    if runs and unit and any(run.tool != histogram_table.TOOL for run in runs):
        raise InputError(f"--unit is for files of numbers: {path} has latencies, whose unit is "
                         "known")  # fmt: skip
    if not runs or column is None:
        return runs
    named = [run for run in runs if run.name == column]
    if not named:
        names = list_text(list(dict.fromkeys(run.name for run in runs if run.name)))
        have = f"it has {names}" if names else "--column is for files of numbers and named runs"
        raise InputError(f"{path} has no run {short(column)}: {have}")
    return named


def _read(path: Path, unit: str) -> list[ImportedRun]:
    documents = json_documents(path)
    if documents:
        read = [_of_document(path, document) for document in documents]
        return [run for runs in read for run in runs] if all(read) else []
    signs = find_signs(path, _SIGNS)
    for name, (_, read_text) in _TEXT.items():
        if name in signs and (runs := read_text(path)):
            return runs
    return histogram_table.read_text(path, unit)


def _of_document(path: Path, document: dict[str, Any] | list[Any]) -> list[ImportedRun]:
    if not isinstance(document, dict):
        return []
    run = next((run for read in _JSON if (run := read(path, document)) is not None), None)
    return fio.read_json(path, document) if run is None else [run]


def _sound(run: ImportedRun) -> bool:
    """Whether the figures of a run can be: what is kept is read again with the same bounds."""
    if not all(0 <= count <= MOST_ACTIVATIONS for count in (run.n or 0, run.overruns)):
        return False
    times = [time_ns for time_ns in (run.average_ns, run.max_ns) if time_ns is not None]
    # Not a number compares as false.
    return all(abs(time_ns) <= MOST_NS for time_ns in (*times, *dict(run.quantiles_ns).values()))
