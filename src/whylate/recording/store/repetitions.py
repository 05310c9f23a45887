"""repetitions.parquet: a row for each repetition of a benchmark.

Columns: turn, point and repetition, then those of the workload, then one for each counter, under
its name after "count ". All are int64 but `value`, which is float64 and null where there is none.
Times are in ns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.bounds import INT64_MAX
from whylate.recording.errors import RecordingError
from whylate.recording.former_schema import FORMER_COLUMNS, FORMER_REPETITIONS
from whylate.recording.repetitions import PLACE, Repetitions
from whylate.recording.store.parquet import make_schema, parquet_errors, parquet_writer
from whylate.recording.workloads.benchmarks import BenchmarkWorkload

NAME = "repetitions.parquet"
#: The number found in the output of a command.
VALUE = "value"
_COUNT = "count "


def _schema(workload: BenchmarkWorkload) -> Any:
    import pyarrow as pa

    counts = [_COUNT + counter.name for counter in workload.repetition_counters]
    types = dict.fromkeys([*PLACE, *workload.columns, *counts], pa.int64())
    if workload.has_value:
        types[VALUE] = pa.float64()
    return make_schema(types, nullable=frozenset({VALUE}))


def write_repetitions(
    directory: Path, workload: BenchmarkWorkload, repetitions: Repetitions
) -> None:
    """Write repetitions.parquet whole or not at all; raises OSError."""
    import pyarrow as pa

    schema = _schema(workload)
    columns: dict[str, Any] = dict(repetitions.columns)
    columns |= {_COUNT + name: column for name, column in repetitions.counts.items()}
    if workload.has_value:
        value = repetitions.value
        value = np.full(repetitions.n, np.nan) if value is None else value
        columns[VALUE] = pa.array(value, pa.float64(), from_pandas=True)
    with parquet_writer(directory / NAME, schema) as file:
        file.write_table(pa.table(columns, schema=schema))


def repetitions_path(directory: Path) -> Path:
    """Return where a recording has its repetitions."""
    former = directory / FORMER_REPETITIONS
    return former if former.exists() else directory / NAME


def _most_rows(workload: BenchmarkWorkload) -> int:
    rows = sum(workload.points[index].rows for index in workload.order)
    return rows * workload.repetitions


def _check(path: Path, columns: dict[str, NDArray[np.int64]], workload: BenchmarkWorkload) -> None:
    """Raise RecordingError for rows of no planned turn, or with figures that nothing has."""
    turn, point = columns["turn"], columns["point"]
    if not turn.size:
        return
    order = np.array(workload.order, np.int64)
    least = min(int(column.min()) for column in columns.values())
    most = max(int(column.max()) for column in columns.values())
    if least < 0 or most > INT64_MAX // 2 or int(turn.max()) >= order.size:
        raise RecordingError(f"{path} has an impossible figure, or a turn that was not planned")
    if (order[turn] != point).any():
        raise RecordingError(f"{path} has a repetition of a point that was not measured then")


def read_repetitions(directory: Path, workload: BenchmarkWorkload) -> Repetitions:
    """Read repetitions.parquet; raises RecordingError where it does not fit the workload."""
    import pyarrow.parquet as pq

    path = repetitions_path(directory)
    if not path.exists():
        raise RecordingError(f"{directory} has no {NAME}: it is incomplete")
    with parquet_errors(f"{path} is not a file of repetitions"):
        rows = pq.read_metadata(path).num_rows
        if rows > _most_rows(workload):
            raise RecordingError(f"{path} has {rows} repetitions: more than were planned")
        table = pq.read_table(path)
        names = [FORMER_COLUMNS.get(name, name) for name in table.column_names]
        schema = _schema(workload)
        table = table.rename_columns(names).select(schema.names).cast(schema)
        columns = {name: table.column(name).to_numpy() for name in schema.names}
    value = columns.pop(VALUE, None)
    _check(path, columns, workload)
    counts = {
        counter.name: columns.pop(_COUNT + counter.name) for counter in workload.repetition_counters
    }
    return Repetitions(columns, value, counts)
