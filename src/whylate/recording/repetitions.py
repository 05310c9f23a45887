"""The repetitions of a benchmark in memory, and repetitions.parquet: a row for each.

Columns: turn, point and repetition, then those of the workload, then one for each counter, under
its name after "count ". All are int64 but `value`, which is float64 and null where there is none.
Times are in ns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError
from whylate.recording.former_schema import FORMER_COLUMNS, FORMER_REPETITIONS
from whylate.recording.manifest import SCHEMA_VERSION
from whylate.recording.parquet import WholeFile
from whylate.recording.workloads.benchmarks import BenchmarkWorkload

NAME = "repetitions.parquet"
#: What every row has.
PLACE = ("turn", "point", "repetition")
#: The number found in the output of a command.
VALUE = "value"
_COUNT = "count "

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Repetitions:
    """The repetitions of a run, in the order in which they were made.

    columns: by name, int64, shape (n,). value: float64, shape (n,), nan where there is none; None
    where the workload has none. counts: of each counter, int64, shape (n,).
    """

    columns: Mapping[str, Int64s]
    value: Floats | None
    counts: Mapping[str, Int64s]

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.columns["turn"])

    def column(self, name: str) -> Int64s:
        """Return a column."""
        return self.columns[name]

    def where(self, chosen: NDArray[np.bool_]) -> Repetitions:
        """Return some of the rows."""
        return Repetitions(
            {name: column[chosen] for name, column in self.columns.items()},
            None if self.value is None else self.value[chosen],
            {name: column[chosen] for name, column in self.counts.items()},
        )


def _schema(workload: BenchmarkWorkload) -> Any:
    import pyarrow as pa

    counts = [_COUNT + counter.name for counter in workload.counters]
    names = [*PLACE, *workload.columns, *counts]
    fields = [pa.field(name, pa.int64(), nullable=False) for name in names]
    if workload.has_value:
        fields.append(pa.field(VALUE, pa.float64()))
    return pa.schema(fields, metadata={b"whylate": str(SCHEMA_VERSION).encode()})


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
    file = WholeFile(directory, NAME, schema)
    try:
        file.write(pa.table(columns, schema=schema))
        file.close()
    except BaseException:
        file.abandon()
        raise


def repetitions_path(directory: Path) -> Path:
    """Return where a recording has its repetitions."""
    former = directory / FORMER_REPETITIONS
    return former if former.exists() else directory / NAME


def read_repetitions(directory: Path, workload: BenchmarkWorkload) -> Repetitions:
    """Read repetitions.parquet; raises RecordingError where it does not fit the workload."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = repetitions_path(directory)
    if not path.exists():
        raise RecordingError(f"{directory} has no {NAME}: it is incomplete")
    try:
        table = pq.read_table(path)
        table = table.rename_columns(
            [FORMER_COLUMNS.get(name, name) for name in table.column_names]
        )
        schema = _schema(workload)
        table = table.select(schema.names).cast(schema)
        columns = {name: table.column(name).to_numpy() for name in schema.names}
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise RecordingError(f"{path} is no file of repetitions: {str(error)[:200]}") from None
    value = columns.pop(VALUE, None)
    counts = {counter.name: columns.pop(_COUNT + counter.name) for counter in workload.counters}
    return Repetitions(columns, value, counts)
