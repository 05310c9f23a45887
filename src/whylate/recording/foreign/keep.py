"""Making imported recordings: all of them, or none."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from whylate import __version__
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.foreign.imported import NAME, SAMPLES, SCHEMA_VERSION, About
from whylate.recording.foreign.model import ForeignError, ForeignRun
from whylate.recording.foreign.numbers import Table, read_boxes, read_table
from whylate.recording.foreign.read import read_foreign
from whylate.recording.journal import sync_directory
from whylate.recording.parquet import WholeFile
from whylate.recording.shown import shown

#: What a file may be of, in the words of an error.
_TOOLS = "cyclictest, jitterdebugger, rtla timerlat, Xenomai's latency, lat_ctx and perf stat"
#: Rows that are written at a time.
_GROUP_ROWS = 1 << 20
#: More runs than this are not made of one import.
_MOST_RUNS = 1000
#: The longest name of a source that is kept.
_SHOWN = 200


@dataclass(frozen=True)
class Taken:
    """One run of a file, to be kept. number: which of the file's runs, from 1."""

    source: str
    sha256: str
    number: int
    found: ForeignRun | Table
    unit: str


def take(path: Path, column: str | None = None, unit: str = "") -> list[Taken]:
    """Read all runs of a file, one of numbers; unit: of numbers, which do not say.

    Raises ForeignError.
    """
    found: Sequence[ForeignRun | Table] = read_foreign(path)
    if found and (column is not None or unit):
        raise ForeignError(f"--column and --unit are for files of numbers: {path} has latencies")
    unit = unit if not found else "ns"
    if not found:
        found = [_numbers(path, column)]
    digest = _sha256(path)
    name = shown(path.name, _SHOWN)
    return [Taken(name, digest, number, one, unit) for number, one in enumerate(found, 1)]


def _numbers(path: Path, column: str | None) -> Table:
    if read_boxes(path):
        raise ForeignError(
            f"{path} is what ministat printed, without the values: whylate compare takes it as it "
            "is, and import takes the files that ministat was given"
        )
    try:
        return read_table(path, column)
    except ForeignError as error:
        if "--column" in str(error):
            raise
        raise ForeignError(f"{error}; nor is it a file of {_TOOLS}") from None


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ForeignError(f"{path} cannot be read: {os.strerror(error.errno or 0)}") from None


def keep(directory: Path, runs: Sequence[Taken]) -> list[Path]:
    """Make recordings of runs, one in the directory itself, several in numbered ones below it.

    They appear under their name together, when all of them are on the disk. Raises RecordingError
    where the directory exists, DiskError where it cannot be written.
    """
    if len(runs) > _MOST_RUNS:
        raise RecordingError(f"more than {_MOST_RUNS} runs are not imported at a time")
    digits = len(str(len(runs)))
    names = [f"{number:0{digits}}" for number in range(1, len(runs) + 1)] if runs[1:] else [""]
    fresh: Path | None = None
    try:
        if directory.exists():
            raise RecordingError(
                f"{directory} exists: a recording is never overwritten, choose another name with -o"
            )
        directory.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{directory.name}.", dir=directory.parent))
        fresh.chmod(0o755)
        for name, run in zip(names, runs, strict=True):
            _write(fresh / name, run)
        sync_directory(fresh)
        fresh.rename(directory)
        sync_directory(directory.parent)
    except OSError as error:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
        raise DiskError(f"{directory} cannot be made: {os.strerror(error.errno or 0)}") from None
    except BaseException:
        if fresh is not None:
            shutil.rmtree(fresh, ignore_errors=True)
        raise
    return [directory / name for name in names]


def _write(directory: Path, taken: Taken) -> None:
    """Write one recording; raises OSError."""
    directory.mkdir(exist_ok=True)
    rows = _write_samples(directory, taken.found)
    with (directory / NAME).open("wb") as file:
        text = msgspec.json.format(msgspec.json.encode(_about(taken, rows)), indent=2)
        file.write(text + b"\n")
        file.flush()
        os.fsync(file.fileno())
    sync_directory(directory)


def _about(taken: Taken, rows: int | None) -> About:
    found = taken.found
    table = found if isinstance(found, Table) else None
    run = found if isinstance(found, ForeignRun) else None
    return About(
        format="whylate-import",
        schema_version=SCHEMA_VERSION,
        kind="latencies" if run is not None else "numbers",
        tool=found.tool,
        source=taken.source,
        sha256=taken.sha256,
        run=taken.number,
        imported=datetime.now(UTC).isoformat(timespec="seconds"),
        whylate=__version__,
        unit=shown(taken.unit, _SHOWN),
        lacks=list(run.lacks) if run is not None else [],
        average=run.average_ns if run is not None else None,
        maximum=run.max_ns if run is not None else None,
        overflow=run.overflow if run is not None else 0,
        overruns=run.overruns if run is not None else 0,
        made=run.made if run is not None else "",
        ordered=run.ordered if run is not None else True,
        rows=rows,
        name=shown(table.name, _SHOWN) if table is not None else "",
    )


def _write_samples(directory: Path, found: ForeignRun | Table) -> int | None:
    """Write samples.parquet; return its rows, None where there is nothing to write."""
    import pyarrow as pa

    if isinstance(found, Table):
        columns: dict[str, Any] = {"value": np.array(found.values, np.float64)}
    elif found.latency_ns is None:
        return None
    else:
        # One after the other: equal ones that stand together are one row.
        first = np.concatenate(([True], np.diff(found.latency_ns) != 0))[: found.latency_ns.size]
        at = np.flatnonzero(first)
        count = np.diff(np.append(at, found.latency_ns.size)).astype(np.uint64)
        columns = {"latency_ns": found.latency_ns[at], "count": count}
    schema = pa.schema([pa.field(name, pa.from_numpy_dtype(column.dtype), nullable=False)
                        for name, column in columns.items()])  # fmt: skip
    rows = len(next(iter(columns.values())))
    file = WholeFile(directory, SAMPLES, schema)
    try:
        for begin in range(0, max(rows, 1), _GROUP_ROWS):
            part = [pa.array(one[begin : begin + _GROUP_ROWS]) for one in columns.values()]
            file.write(pa.table(part, schema=schema))
        file.close()
    except BaseException:
        file.abandon()
        raise
    return rows
