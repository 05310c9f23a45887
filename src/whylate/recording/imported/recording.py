"""An imported recording: a run in the file of another tool, kept as a directory.

import.json has the tool, the file, and what it lacks; samples.parquet has the latencies
(columns latency_ns int64 and count uint64: the number of consecutive equal latencies) or, of a
file of numbers, the values (column value, float64), in the order of the file; of a table of
executions the columns that import.json names (float64, and string for places). A run of which only
a mean and a maximum were kept has no samples.parquet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError
from whylate.recording.imported.executions.kept import TEXT_TYPE, arrow_types, read_columns
from whylate.recording.imported.executions.model import (
    MOST_COLUMNS,
    MOST_TEXT,
    Column,
    Executions,
)
from whylate.recording.imported.mark import NAME
from whylate.recording.imported.model import MOST_ACTIVATIONS, MOST_NS, ImportedRun
from whylate.recording.imported.numbers import Table
from whylate.recording.imported.rows import MOST_VALUES
from whylate.recording.store.lines import read_plan
from whylate.recording.store.parquet import parquet_errors

SAMPLES = "samples.parquet"
SCHEMA_VERSION = 3
#: Rows of samples.parquet: a run in the order in which it came has as many as its activations.
MOST_ROWS = 20_000_000

#: Bytes of a cell of it, and of all that is beside its cells.
_MOST_CELL = 4 * MOST_TEXT + 16
_SLACK = 1 << 20

Short = Annotated[str, msgspec.Meta(max_length=300)]
Digest = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST_ACTIVATIONS)]


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """import.json.

    source: the name of the file, and sha256 of its bytes. run: which of its runs, from 1. rows: of
    samples.parquet, each with its count; None: there is none. unit: of average, maximum and
    values. overflow, overruns, ordered and lacks are those of ImportedRun, as average_cut,
    activations and quantiles are (since schema 2). name: of the column of numbers, or of the run
    among others of its file; "": none. columns: of a table of executions (since schema 3).
    """

    format: Literal["whylate-import"]
    schema_version: int
    kind: Literal["latencies", "numbers", "executions"]
    tool: Short
    source: Short
    sha256: Digest
    run: Annotated[int, msgspec.Meta(ge=1)]
    imported: Short
    whylate: Short
    unit: Short
    lacks: Annotated[list[Short], msgspec.Meta(max_length=20)]
    average: float | None
    maximum: float | None
    overflow: Count
    overruns: Count
    ordered: bool
    rows: Annotated[int, msgspec.Meta(ge=0, le=MOST_ROWS)] | None
    name: Short = ""
    #: When the run began, ISO 8601 in UTC; "": its file does not say.
    made: Annotated[str, msgspec.Meta(pattern=r"^([0-9T:+-]{25})?$")] = ""
    average_cut: Annotated[float, msgspec.Meta(ge=0, le=MOST_NS)] = 0.0
    activations: Count | None = None
    quantiles: Annotated[dict[Short, float], msgspec.Meta(max_length=20)] = {}
    columns: Annotated[list[Column], msgspec.Meta(max_length=MOST_COLUMNS)] = []


@dataclass(frozen=True)
class ImportedRecording:
    """A recording of another tool's; data: its run, or its table of numbers or of executions."""

    directory: Path
    about: About
    data: ImportedRun | Table | Executions


def read_imported(directory: Path) -> ImportedRecording:
    """Read an imported recording; raises RecordingError."""
    about = read_about(directory)
    if about.kind == "executions":
        return ImportedRecording(directory, about, _executions(directory / SAMPLES, about))
    if about.kind == "numbers":
        values = tuple(_values(directory / SAMPLES, about).tolist())
        return ImportedRecording(
            directory, about, Table(directory, about.name, values, tool=about.tool)
        )
    latency_ns, counts = (
        (None, None) if about.rows is None else _latencies(directory / SAMPLES, about)
    )
    run = ImportedRun(
        tool=about.tool,
        latency_ns=latency_ns,
        counts=counts,
        overflow=about.overflow,
        ordered=about.ordered,
        average_ns=about.average,
        max_ns=about.maximum,
        overruns=about.overruns,
        lacks=tuple(about.lacks),
        made=about.made,
        average_cut_ns=about.average_cut,
        activations=about.activations,
        quantiles_ns=tuple(about.quantiles.items()),
        name=about.name,
    )
    return ImportedRecording(directory, about, run)


def read_about(directory: Path) -> About:
    """Read import.json; raises RecordingError."""
    path = directory / NAME
    about = read_plan(path, About, f"{directory} is not an import", SCHEMA_VERSION)
    texts = (about.tool, about.source, about.imported, about.whylate, about.unit, about.name)
    if not all(text.isprintable() for text in (*texts, *about.lacks)):
        raise RecordingError(f"{path} is damaged: it has characters that cannot be printed")
    if about.kind != "latencies" and not about.rows:
        raise RecordingError(f"{path} is damaged: {about.kind} without values")
    if not all(name.isprintable() for name in about.quantiles):
        raise RecordingError(f"{path} is damaged: it has characters that cannot be printed")
    for value in (about.average, about.maximum, *about.quantiles.values()):
        if value is not None and not (math.isfinite(value) and abs(value) <= MOST_NS):
            raise RecordingError(f"{path} is damaged: {value} is not a time")
    return about


def _latencies(path: Path, about: About) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the latencies, int64 ns, ascending unless about.ordered, and the count of each.

    Raises RecordingError.
    """
    table = _table(path, about, {"latency_ns": "int64", "count": "uint64"}, MOST_ROWS)
    latency_ns, count = table["latency_ns"].to_numpy(), table["count"].to_numpy()
    # As floats, for counts that are out of any range must not wrap round.
    if float(count.sum(dtype=np.float64)) + about.overflow > MOST_ACTIVATIONS:
        raise RecordingError(f"{path} has more than {MOST_ACTIVATIONS:,} activations")
    if (count == 0).any():
        raise RecordingError(f"{path} is damaged: its counts are not those of a run")
    if latency_ns.size and max(abs(int(latency_ns.min())), abs(int(latency_ns.max()))) > MOST_NS:
        raise RecordingError(f"{path} is damaged: it has impossible latencies")
    if not about.ordered and (np.diff(latency_ns) <= 0).any():
        raise RecordingError(f"{path} is damaged: its latencies are not in ascending order")
    return latency_ns, count.astype(np.int64)


def _values(path: Path, about: About) -> NDArray[np.float64]:
    table = _table(path, about, {"value": "double"}, MOST_VALUES)
    values: NDArray[np.float64] = table["value"].to_numpy()
    if not values.size or not np.isfinite(values).all():
        raise RecordingError(f"{path} is damaged: not all of its values are numbers")
    return values


def _executions(path: Path, about: About) -> Executions:
    table = _table(path, about, arrow_types(path, about.columns), MOST_VALUES)
    return read_columns(path, table, about.columns, tuple(about.lacks), about.tool)


def _table(path: Path, about: About, types: dict[str, str], most: int) -> Any:
    """Return the rows of samples.parquet; raises RecordingError where they are not as expected."""
    import pyarrow.parquet as pq

    # A text that is there often is read once.
    texts = [name for name, kind in types.items() if kind == TEXT_TYPE]
    with (
        parquet_errors(f"{path} is not a Parquet file that can be read"),
        pq.ParquetFile(path, read_dictionary=texts) as file,
    ):
        columns = {field.name: str(field.type) for field in file.schema_arrow}
        if columns != types or len(file.schema_arrow) != len(types):
            raise RecordingError(f"{path} is damaged: it has the columns {sorted(columns)[:4]}")
        # Before memory is asked for.
        if file.metadata.num_rows != about.rows or file.metadata.num_rows > most:
            raise RecordingError(
                f"{path} has {file.metadata.num_rows} rows, {NAME} has {about.rows}: they "
                "are of different imports"
            )
        groups = range(file.metadata.num_row_groups)
        size = sum(file.metadata.row_group(group).total_byte_size for group in groups)
        if size > _SLACK + _MOST_CELL * len(types) * file.metadata.num_rows:
            raise RecordingError(f"{path} is damaged: it has {size:,} bytes in its rows")
        table = file.read()
    if any(table[name].null_count for name in types):
        raise RecordingError(f"{path} is damaged: it has rows without a number")
    return table
