"""Write imported recordings: all of them, or none."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from whylate import __version__
from whylate.files import sha256_of, sync_directory, whole_directory, write_whole
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.imported.executions.kept import arrow_arrays
from whylate.recording.imported.executions.model import Executions
from whylate.recording.imported.executions.read import read_executions
from whylate.recording.imported.mark import NAME
from whylate.recording.imported.ministat import read_boxes
from whylate.recording.imported.model import ImportedRun, InputError
from whylate.recording.imported.numbers import (
    Table,
    UnknownError,
    is_of_known_tool,
    read_table,
)
from whylate.recording.imported.read import select_runs
from whylate.recording.imported.recording import SAMPLES, SCHEMA_VERSION, About
from whylate.recording.imported.unread import raise_if_known
from whylate.recording.store.parquet import parquet_writer
from whylate.text import shown

#: Tools whose files are read, in the words of an error.
_TOOLS = (
    "cyclictest, jitterdebugger, rtla, hwlatdetect, Xenomai's latency, schbench, perf sched, "
    "perf stat, fio, hyperfine, Google Benchmark, go test, lat_ctx or function_graph"
)
#: An error of a file of which nothing is known.
_UNKNOWN = re.compile(
    r"is not a number(?!: if)|has no numbers$|is no table of numbers:|too long for a row"
)
#: Rows that are written at a time.
_GROUP_ROWS = 1 << 20
#: Runs of an import.
_MOST_RUNS = 1000
#: The longest name of a source that is kept.
_SHOWN = 200


@dataclass(frozen=True)
class Importable:
    """A run of a file, to be imported. number: position of the run in the file's runs, from 1."""

    source: str
    sha256: str
    number: int
    data: ImportedRun | Table | Executions
    unit: str


def read_importable(path: Path, column: str | None = None, unit: str = "") -> list[Importable]:
    """Read all runs of a file, or those that --column names.

    unit: of numbers, of a histogram that is a table, or of the durations of executions, where the
    file does not have it. Raises InputError.
    """
    entries = _entries(path, column, unit)
    digest = _sha256(path)
    name = shown(path.name, _SHOWN)
    return [
        Importable(name, digest, number, entry, _unit(entry, unit))
        for number, entry in enumerate(entries, 1)
    ]


def _entries(
    path: Path, column: str | None, unit: str
) -> Sequence[ImportedRun | Table | Executions]:
    runs = select_runs(path, column, unit)
    if runs:
        return runs
    # Of one column, and where a tool's own text has such words, it is numbers.
    executions = None
    if column is None and not is_of_known_tool(path):
        executions = read_executions(path, unit)
    return [_numbers(path, column)] if executions is None else [executions]


def _unit(entry: ImportedRun | Table | Executions, unit: str) -> str:
    """Return the unit of what is kept: times are in ns, numbers in theirs or as the user says."""
    if isinstance(entry, Executions):
        # Each of its columns has its own.
        return ""
    return unit or entry.unit if isinstance(entry, Table) else "ns"


def _numbers(path: Path, column: str | None) -> Table:
    if read_boxes(path):
        raise InputError(
            f"{path} is the output of ministat, without the values: use it with whylate compare, "
            "or import the files that ministat was given"
        )
    try:
        return read_table(path, column)
    except UnknownError as error:
        if column is None:
            raise_if_known(path)
        if not _UNKNOWN.search(str(error)):
            raise
        raise InputError(f"{error}; nor is it a file of {_TOOLS}") from None


def _sha256(path: Path) -> str:
    try:
        return sha256_of(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {os.strerror(error.errno or 0)}") from None


def write_imported(directory: Path, runs: Sequence[Importable]) -> list[Path]:
    """Write recordings of runs: one in the directory itself, several in numbered ones below it.

    They appear together, when all are on the disk. Raises RecordingError
    where the directory exists, DiskError where it cannot be written.
    """
    if len(runs) > _MOST_RUNS:
        raise RecordingError(f"more than {_MOST_RUNS} runs are not imported at a time")
    digits = len(str(len(runs)))
    names = [f"{number:0{digits}}" for number in range(1, len(runs) + 1)] if runs[1:] else [""]
    try:
        if directory.exists():
            raise RecordingError(
                f"{directory} exists: a recording is never overwritten, choose another name with -o"
            )
        with whole_directory(directory) as fresh:
            for name, run in zip(names, runs, strict=True):
                _write(fresh / name, run)
    except OSError as error:
        raise DiskError(f"{directory} cannot be made: {os.strerror(error.errno or 0)}") from None
    return [directory / name for name in names]


def _write(directory: Path, run: Importable) -> None:
    """Write one recording; raises OSError."""
    directory.mkdir(exist_ok=True)
    rows = _write_samples(directory, run.data)
    text = msgspec.json.format(msgspec.json.encode(_about(run, rows)), indent=2)
    write_whole(directory / NAME, text + b"\n")
    sync_directory(directory)


def _about(entry: Importable, rows: int | None) -> About:
    data = entry.data
    kind: Literal["numbers", "latencies", "executions"]
    if isinstance(data, Table | Executions):
        kind = "numbers" if isinstance(data, Table) else "executions"
        name = shown(data.name, _SHOWN)
        run = ImportedRun(data.tool, None, None, 0, True, None, None, 0, data.lacks)
    else:
        kind, name, run = "latencies", shown(data.name, _SHOWN), data
    return About(
        format="whylate-import",
        schema_version=SCHEMA_VERSION,
        kind=kind,
        tool=run.tool,
        source=entry.source,
        sha256=entry.sha256,
        run=entry.number,
        imported=datetime.now(UTC).isoformat(timespec="seconds"),
        whylate=__version__,
        unit=shown(entry.unit, _SHOWN),
        lacks=list(run.lacks),
        average=run.average_ns,
        maximum=run.max_ns,
        overflow=run.overflow,
        overruns=run.overruns,
        made=run.made,
        ordered=run.ordered,
        rows=rows,
        name=name,
        average_cut=run.average_cut_ns,
        activations=run.activations,
        quantiles=dict(run.quantiles_ns),
        columns=list(data.columns) if isinstance(data, Executions) else [],
    )


def _write_samples(directory: Path, data: ImportedRun | Table | Executions) -> int | None:
    """Write samples.parquet; return its rows, None where there is nothing to write."""
    import pyarrow as pa

    if isinstance(data, Executions):
        columns: dict[str, Any] = arrow_arrays(data)
    elif isinstance(data, Table):
        columns = {"value": pa.array(np.array(data.values, np.float64))}
    elif data.latency_ns is None or data.counts is None:
        return None
    else:
        columns = {"latency_ns": pa.array(data.latency_ns),
                   "count": pa.array(data.counts.astype(np.uint64))}  # fmt: skip
    schema = pa.schema([pa.field(name, column.type, nullable=False)
                        for name, column in columns.items()])  # fmt: skip
    rows = len(next(iter(columns.values())))
    with parquet_writer(directory / SAMPLES, schema) as file:
        for begin in range(0, max(rows, 1), _GROUP_ROWS):
            part = [column[begin : begin + _GROUP_ROWS] for column in columns.values()]
            file.write_table(pa.table(part, schema=schema))
    return rows
