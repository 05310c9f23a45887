"""The repetitions of trials in memory, and trials.parquet: a row for each.

Columns: trial, point and repetition, then what the workload has (COLUMNS), then one for each
counter, under its name after "count ". All are int64 but `value`, which is float64 and null where
there is none. Times are in ns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.errors import RecordingError
from whylate.recording.manifest import SCHEMA_VERSION
from whylate.recording.parquet import WholeFile
from whylate.recording.points import TrialWorkload

NAME = "trials.parquet"
#: What every row has.
PLACE = ("trial", "point", "repetition")
COLUMNS: dict[TrialWorkload, tuple[str, ...]] = {
    "switch": ("ring_ns", "own_ns", "hops", "switches"),
    "memory": ("ns", "passes"),
    "clock": ("thread", "cpu", "ns", "calls", "checks", "backward", "most_backward_ns"),
    "cmd": ("wall_ns", "user_ns", "system_ns", "peak_memory", "status", "signal"),
}
#: The number found in what a command wrote.
VALUE = "value"
_COUNT = "count "

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TrialRows:
    """The repetitions of a run, in the order in which they were made.

    columns: by name, int64, shape (n,). value: float64, shape (n,), nan where there is none; None
    where none is looked for. counts: of each counter, int64, shape (n,).
    """

    columns: Mapping[str, Int64s]
    value: Floats | None
    counts: Mapping[str, Int64s]

    @property
    def n(self) -> int:
        """How many there are."""
        return len(self.columns["trial"])

    def of(self, name: str) -> Int64s:
        """Return a column."""
        return self.columns[name]

    def where(self, chosen: NDArray[np.bool_]) -> TrialRows:
        """Return some of the rows."""
        return TrialRows(
            {name: column[chosen] for name, column in self.columns.items()},
            None if self.value is None else self.value[chosen],
            {name: column[chosen] for name, column in self.counts.items()},
        )


def _schema(workload: TrialWorkload, counters: Sequence[str]) -> Any:
    import pyarrow as pa

    names = [*PLACE, *COLUMNS[workload], *(_COUNT + name for name in counters)]
    fields = [pa.field(name, pa.int64(), nullable=False) for name in names]
    if workload == "cmd":
        fields.append(pa.field(VALUE, pa.float64()))
    return pa.schema(fields, metadata={b"whylate": str(SCHEMA_VERSION).encode()})


def write_rows(directory: Path, workload: TrialWorkload, rows: TrialRows) -> None:
    """Write trials.parquet whole or not at all; raises OSError."""
    import pyarrow as pa

    schema = _schema(workload, list(rows.counts))
    columns: dict[str, Any] = {name: rows.columns[name] for name in (*PLACE, *COLUMNS[workload])}
    columns |= {_COUNT + name: column for name, column in rows.counts.items()}
    if workload == "cmd":
        value = rows.value if rows.value is not None else np.full(rows.n, np.nan)
        columns[VALUE] = pa.array(value, pa.float64(), from_pandas=True)
    file = WholeFile(directory, NAME, schema)
    try:
        file.write(pa.table(columns, schema=schema))
        file.close()
    except BaseException:
        file.abandon()
        raise


def read_rows(directory: Path, workload: TrialWorkload, counters: Sequence[str]) -> TrialRows:
    """Read trials.parquet; raises RecordingError where it is not what it should be."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = directory / NAME
    if not path.exists():
        raise RecordingError(f"{directory} has no {NAME}: it is incomplete")
    try:
        table = pq.read_table(path)
        wanted = _schema(workload, counters)
        table = table.select(wanted.names).cast(wanted)
        found = {name: table.column(name).to_numpy() for name in wanted.names}
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise RecordingError(f"{path} is no file of trials: {str(error)[:200]}") from None
    value = found.pop(VALUE, None)
    counts = {name: found.pop(_COUNT + name) for name in counters}
    return TrialRows(found, value, counts)
