"""repetitions.parquet: a row for each repetition of a benchmark.

Columns: turn, point and repetition, then those of the workload, then one for each counter, under
its name after "count ". All are int64 but `value`, which is float64 and null where there is none.
Times are in ns.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

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

    counts = [_COUNT + counter.name for counter in workload.counters]
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


def read_repetitions(directory: Path, workload: BenchmarkWorkload) -> Repetitions:
    """Read repetitions.parquet; raises RecordingError where it does not fit the workload."""
    import pyarrow.parquet as pq

    path = repetitions_path(directory)
    if not path.exists():
        raise RecordingError(f"{directory} has no {NAME}: it is incomplete")
    with parquet_errors(f"{path} is not a file of repetitions"):
        table = pq.read_table(path)
        names = [FORMER_COLUMNS.get(name, name) for name in table.column_names]
        schema = _schema(workload)
        table = table.rename_columns(names).select(schema.names).cast(schema)
        columns = {name: table.column(name).to_numpy() for name in schema.names}
    value = columns.pop(VALUE, None)
    counts = {counter.name: columns.pop(_COUNT + counter.name) for counter in workload.counters}
    return Repetitions(columns, value, counts)
