"""Windows of a recording that may have been changed: all are checked before any is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whylate.recording.errors import RecordingError
from whylate.recording.events import Window
from whylate.recording.manifest import Manifest
from whylate.recording.recorder import windows

#: No time of a board's clock is further from zero, so that sums and differences of two are int64.
MOST_NS = 1 << 61


def checked_windows(directory: Path, manifest: Manifest) -> Iterator[Window]:
    """Yield the windows of a recording as read_windows() does; raises RecordingError.

    All types are what whylate writes, nothing is missing that has a value in every row, times are
    possible, and every window is of a CPU that was measured.
    """
    with windows.window_errors(directory):
        _check(directory / windows.WINDOWS, windows.window_schema(), manifest)
        _check(directory / windows.EVENTS, windows.event_schema(), None)
    yield from windows.read_windows(directory)


def _check(path: Path, schema: Any, manifest: Manifest | None) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        fields = [field for field in schema if field.name in file.schema_arrow.names]
        for field in fields:
            kind = file.schema_arrow.field(field.name).type
            if kind != field.type:
                raise RecordingError(f"{path}: column {field.name} is {kind}, not {field.type}")
        names = [field.name for field in fields]
        for batch in file.iter_batches(batch_size=1 << 14, columns=names):
            for field in fields:
                _check_column(path, field, batch.column(field.name))
            if manifest is not None:
                _check_cpus(path, batch.column("cpu"), manifest)


def _check_column(path: Path, field: Any, column: Any) -> None:
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [column, column.flatten()] if pa.types.is_list(field.type) else [column]
    if not field.nullable and any(part.null_count for part in parts):
        raise RecordingError(f"{path}: column {field.name} lacks a value")
    is_time = field.name.endswith("_ns") and field.name not in windows.SUMS
    if is_time and column.null_count < len(column):
        ends = pc.min_max(column).as_py()
        if not -MOST_NS < ends["min"] <= ends["max"] < MOST_NS:
            raise RecordingError(f"{path}: column {field.name} has an impossible time")


def _check_cpus(path: Path, column: Any, manifest: Manifest) -> None:
    unknown = set(column.unique().to_pylist()) - {account.cpu for account in manifest.cpus}
    if unknown:
        raise RecordingError(f"{path}: a window of CPU {min(unknown)}, which was not measured")
