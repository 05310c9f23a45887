"""windows.parquet and events.parquet: what the flight recorder kept of single activations.

windows.parquet has a row for each recorded activation, in the order in which they were copied;
events.parquet the events of all of them, in the same order (recording.md has the columns).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from operator import attrgetter
from pathlib import Path
from typing import Any

from whylate.recording.errors import RecordingError
from whylate.recording.events import Event, Kind, Reason, Window
from whylate.recording.former_schema import FORMER_WINDOWS, convert_window
from whylate.recording.manifest import Manifest
from whylate.recording.store.parquet import make_schema, parquet_errors, parquet_writer

WINDOWS = "windows.parquet"
EVENTS = "events.parquet"
#: Rows in memory before they are written.
GROUP_ROWS = 1 << 16
#: Events of a window: a file with more was not written from a probe, and is not read.
MOST_EVENTS = 1 << 20

_WINDOW_TYPES = {
    "window": "uint32", "cpu": "uint16", "activation": "int64", "pid": "int32", "prio": "int16",
    "reason": "string", "due_ns": "int64", "run_ns": "int64", "timer_ns": "int64",
    "waking_ns": "int64", "switched_ns": "int64", "waking_cpu": "int32", "observed_ns": "int64",
    "irq_ns": "int64", "softirq_ns": "int64", "nmi_ns": "int64", "idle_ns": "int64",
    "thread_ns": "int64", "steal_ns": "int64",
}  # fmt: skip
_EVENT_TYPES = {
    "window": "uint32", "cpu": "uint16", "time_ns": "int64", "kind": "string", "id": "int64",
    "name": "string", "prio": "int16", "prev_id": "int32", "prev_prio": "int16",
    "prev_state": "string", "target_cpu": "int32", "duration_ns": "int64",
    "stack": "list", "enabled": "bool",
}  # fmt: skip
#: The columns behind the number of the window; the sums are the last of a window.
_WINDOW_FIELDS = attrgetter(*list(_WINDOW_TYPES)[1:-6])
_EVENT_FIELDS = attrgetter(*list(_EVENT_TYPES)[1:])
#: By the number that the probe sends.
REASONS: tuple[Reason, ...] = ("control", "tail", "stop")
SUMS = ("irq_ns", "softirq_ns", "nmi_ns", "idle_ns", "thread_ns", "steal_ns")
#: Columns that the first recordings with windows had not.
_LATER = {"waking_cpu"}
#: No time of a board's clock is further from zero, so that sums and differences of two are int64.
MOST_NS = 1 << 61
_NULLABLE = frozenset({"timer_ns", "waking_ns", "switched_ns", "waking_cpu", "enabled"})


def window_schema() -> Any:
    """Return the Arrow schema of windows.parquet."""
    return _schema(_WINDOW_TYPES)


def event_schema() -> Any:
    """Return the Arrow schema of events.parquet."""
    return _schema(_EVENT_TYPES)


def _schema(types: dict[str, str]) -> Any:
    import pyarrow as pa

    kinds = {"string": pa.dictionary(pa.int32(), pa.string()), "list": pa.list_(pa.string()),
             "bool": pa.bool_()}  # fmt: skip
    columns = {name: kinds.get(kind) or getattr(pa, kind)() for name, kind in types.items()}
    return make_schema(columns, nullable=_NULLABLE)


class _Table:
    """Appends rows to one Parquet file, a group at a time."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._rows: list[tuple[Any, ...]] = []

    def add(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add rows, whose values are in the order of the columns."""
        self._rows.extend(rows)
        if len(self._rows) >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        import pyarrow as pa

        schema = self._file.schema
        columns = list(zip(*self._rows, strict=True)) or [()] * len(schema)
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)
        ]
        self._file.write_table(pa.table(arrays, schema=schema))
        self._rows.clear()


@contextmanager
def windows_writer(directory: Path) -> Iterator[WindowsWriter]:
    """Yield what writes both files, which appear when they are whole; raises OSError."""
    with (
        parquet_writer(directory / WINDOWS, window_schema()) as windows,
        parquet_writer(directory / EVENTS, event_schema()) as events,
    ):
        writer = WindowsWriter(_Table(windows), _Table(events))
        yield writer
        writer.flush()


class WindowsWriter:
    """Writes windows as they come."""

    def __init__(self, windows: _Table, events: _Table) -> None:
        self._windows = windows
        self._events = events
        self.count = 0

    def add(self, window: Window, sums: Sequence[int]) -> None:
        """Add a window. sums: ns by SUMS, since the thread was switched away from before."""
        own = (self.count,)
        spent = (*sums, 0, 0, 0, 0, 0, 0)[: len(SUMS)]
        self._windows.add([(*own, *_WINDOW_FIELDS(window), *spent)])
        self._events.add([(*own, *_EVENT_FIELDS(event)) for event in window.events])
        self.count += 1

    def flush(self) -> None:
        """Write what waits."""
        self._windows.flush()
        self._events.flush()


def read_windows(directory: Path) -> Iterator[Window]:
    """Yield the windows of a recording, one at a time; raises RecordingError.

    Memory is bounded by a row group of each file.
    """
    with window_errors(directory):
        events = _Rows(directory / EVENTS, _EVENT_TYPES)
        for row in _rows(directory / WINDOWS, _WINDOW_TYPES):
            yield _window(row, events.of_window(row["window"]))


def window_errors(directory: Path) -> AbstractContextManager[None]:
    """Raise RecordingError for what reading the windows raises."""
    return parquet_errors(f"{directory}: its windows cannot be read")


def _rows(path: Path, types: dict[str, str]) -> Iterator[dict[str, Any]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        columns = [name for name in (*types, *FORMER_WINDOWS) if name in file.schema_arrow.names]
        known = {FORMER_WINDOWS.get(name, name) for name in columns}
        missing = set(types) - known - _LATER
        if missing:
            raise RecordingError(f"{path} was not written by whylate: it lacks {min(missing)}")
        for batch in file.iter_batches(batch_size=1 << 14, columns=columns):
            yield from map(convert_window, batch.to_pylist())


class _Rows:
    """The rows of events.parquet, handed out window by window."""

    def __init__(self, path: Path, types: dict[str, str]) -> None:
        self._path = path
        self._rows = _rows(path, types)
        self._next = next(self._rows, None)

    def of_window(self, window: int) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        while self._next is not None and self._next["window"] <= window:
            if self._next["window"] == window:
                events.append(self._next)
            if len(events) > MOST_EVENTS:
                raise RecordingError(f"{self._path}: window {window} has too many events")
            self._next = next(self._rows, None)
        return events


def _window(row: dict[str, Any], events: list[dict[str, Any]]) -> Window:
    reason = row["reason"]
    if reason not in REASONS:
        raise ValueError(f"a window for {reason!r}")
    fields: dict[str, Any] = {
        name: row.get(name) for name in _WINDOW_TYPES if name not in {"window", *SUMS}
    }
    return Window(
        **fields,
        events=tuple(_event(event) for event in events),
        sums=tuple(row[name] for name in SUMS),
    )


def _event(row: dict[str, Any]) -> Event:
    row = {**row, "kind": Kind(row["kind"]), "stack": tuple(row["stack"] or ())}
    del row["window"]
    return Event(**row)


def checked_windows(directory: Path, manifest: Manifest) -> Iterator[Window]:
    """Yield the windows of a recording as read_windows() does; raises RecordingError.

    All types are what whylate writes, nothing is missing that has a value in every row, times are
    possible, and every window is of a CPU that was measured.
    """
    with window_errors(directory):
        _check(directory / WINDOWS, window_schema(), manifest)
        _check(directory / EVENTS, event_schema(), None)
    yield from read_windows(directory)


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
    is_time = field.name.endswith("_ns") and field.name not in SUMS
    if is_time and column.null_count < len(column):
        ends = pc.min_max(column).as_py()
        if not -MOST_NS < ends["min"] <= ends["max"] < MOST_NS:
            raise RecordingError(f"{path}: column {field.name} has an impossible time")


def _check_cpus(path: Path, column: Any, manifest: Manifest) -> None:
    unknown = set(column.unique().to_pylist()) - {account.cpu for account in manifest.cpus}
    if unknown:
        raise RecordingError(f"{path}: a window of CPU {min(unknown)}, which was not measured")
