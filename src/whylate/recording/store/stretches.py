"""stretches.parquet: a row for each time in which interrupts or preemption were seen disabled.

Columns: turn; at_ns: when it was seen to end, since the start of the turn; seen_ns: for how long;
points of the sampling grid in it; cpu, pid; group: of the turn's report. All are int64.
"""

from __future__ import annotations

from pathlib import Path

from whylate.recording.bounds import INT64_MAX
from whylate.recording.errors import RecordingError
from whylate.recording.store.parquet import make_schema, parquet_errors, parquet_writer
from whylate.recording.stretches import STRETCH_COLUMNS, Stretches

NAME = "stretches.parquet"
#: More are not kept of a turn (probe/src/workloads/off.c).
_MOST_OF_TURN = 1 << 20


def write_stretches(directory: Path, stretches: Stretches) -> None:
    """Write stretches.parquet whole or not at all; raises OSError."""
    import pyarrow as pa

    schema = make_schema(dict.fromkeys(STRETCH_COLUMNS, pa.int64()))
    with parquet_writer(directory / NAME, schema) as file:
        file.write_table(pa.table(dict(stretches.columns), schema=schema))


def read_stretches(directory: Path, turns: int) -> Stretches:
    """Read stretches.parquet of a run of so many turns; raises RecordingError."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = directory / NAME
    if not path.exists():
        raise RecordingError(f"{directory} has no {NAME}: it is incomplete")
    with parquet_errors(f"{path} is not a file of stretches"):
        if pq.read_metadata(path).num_rows > turns * _MOST_OF_TURN:
            raise RecordingError(f"{path} has more stretches than a run keeps")
        schema = make_schema(dict.fromkeys(STRETCH_COLUMNS, pa.int64()))
        table = pq.read_table(path).select(schema.names).cast(schema)
        columns = {name: table.column(name).to_numpy() for name in schema.names}
    for name, column in columns.items():
        if column.size and not 0 <= column.min() <= column.max() <= INT64_MAX // 2:
            raise RecordingError(f"{path} has an impossible {name}")
    return Stretches(columns)
