"""What stands behind a path: a recording, one that was imported, or a file of another tool."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from whylate.compare.runs import Run, imported_run, imported_runs, read_run
from whylate.recording.imported.executions.model import Executions
from whylate.recording.imported.mark import NAME, is_imported
from whylate.recording.imported.model import ImportedRun, InputError
from whylate.recording.imported.numbers import Table, UnknownError, read_table
from whylate.recording.imported.recording import read_imported
from whylate.recording.imported.rows import list_text
from whylate.recording.imported.unread import raise_if_known
from whylate.summary.executions import count_executions

_MARKS = ("manifest.json", "journal", NAME)


@dataclass(frozen=True)
class Source:
    """What was read: runs with latencies, or a table of numbers in a unit ("": not known)."""

    runs: tuple[Run, ...] = ()
    table: Table | None = None
    unit: str = ""


def is_file(path: Path) -> bool:
    """Whether a path is a file; False if it cannot be read: opening it gives the reason."""
    try:
        return path.is_file()
    except OSError:
        return False


def recordings_in(path: Path) -> list[Path]:
    """Return a recording, or the recordings in a directory of them; a file stands for itself."""
    try:
        return _inside(path)
    except OSError:
        return [path]


def _inside(path: Path) -> list[Path]:
    if not path.is_dir() or any((path / mark).exists() for mark in _MARKS):
        return [path]
    inside = sorted(directory for directory in path.iterdir() if directory.is_dir())
    return [
        directory for directory in inside if any((directory / mark).exists() for mark in _MARKS)
    ] or [path]


def check_there(paths: Sequence[Path]) -> None:
    """Raise InputError for a path where nothing is, or nothing that can be read twice."""
    for path in paths:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            raise InputError(f"{str(path)[:200]}: {error.strerror}") from None
        except ValueError:
            raise InputError(f"{str(path)[:200]!r} is no name of a file") from None
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise InputError(f"{path} is neither a file nor a directory: write to a file first")


def is_own(path: Path) -> bool:
    """Whether a path is a recording of whylate's own, or nothing that is known."""
    return not is_file(path) and not is_imported(path)


def read_source(path: Path, column: str | None = None, unit: str = "") -> Source:
    """Read a recording or a file; column: of a file of numbers.

    unit: of a histogram that is a table without one. Raises RecordingError, InputError among them.
    """
    if is_file(path):
        runs = imported_runs(path, column, unit)
        if runs:
            return Source(tuple(runs))
        table = _table(path, column)
        return Source(table=table, unit=table.unit)
    if not is_imported(path):
        return Source((read_run(path),))
    imported = read_imported(path)
    if isinstance(imported.data, ImportedRun):
        about = imported.about
        return Source((imported_run(str(path), imported.data, about.sha256, about.run),))
    if isinstance(imported.data, Executions):
        table = _counter(path, imported.data, column)
        return Source(table=table, unit=table.unit)
    if column is not None and not imported.data.is_called(column):
        raise InputError(f"{path} has one column alone, {imported.data.name!r}")
    return Source(table=imported.data, unit=imported.about.unit)


def _counter(path: Path, executions: Executions, name: str | None) -> Table:
    """Return a column of executions as numbers, of marks the differences; raises InputError."""
    counted = count_executions(executions, str(path))
    chosen = next((column for column in counted.columns if column.name == name), None)
    if chosen is None:
        names = list_text(list(counted.values))
        raise InputError(f"{path} has executions with counters: choose one with --column ({names})")
    values = tuple(counted.values[chosen.name].tolist())
    return Table(path, chosen.name, values, tool=executions.tool, unit=chosen.unit)


def _table(path: Path, column: str | None) -> Table:
    try:
        return read_table(path, column)
    except UnknownError:
        if column is None:
            raise_if_known(path)
        raise
