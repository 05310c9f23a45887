"""windows.parquet and events.parquet: what the flight recorder kept of single activations.

windows.parquet has a row for each recorded activation, in the order in which they were copied;
events.parquet the events of all of them, in the same order (recording.md has the columns).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from whylate.recording.errors import RecordingError
from whylate.recording.events import Event, Kind, Reason, Window
from whylate.recording.former_schema import FORMER_WINDOWS, convert_window
from whylate.recording.manifest import Manifest
from whylate.recording.recorder.window_batches import WindowBatch
from whylate.recording.recorder.window_tables import event_table, window_table
from whylate.recording.samples import Bools, Int64s
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
_KINDS = {kind.value: kind for kind in Kind}
_EVENT_ORDER = [field.name for field in fields(Event)]
#: What controls are called, by former recordings too.
_CONTROLS = frozenset({"control", "body"})
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
        self._tables: list[Any] = []
        self._waiting = 0

    @property
    def schema(self) -> Any:
        """The Arrow schema of the file."""
        return self._file.schema

    def add(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows, whose values are in the order of the columns."""
        self._rows.extend(rows)
        self._added(len(rows))

    def add_table(self, table: Any) -> None:
        """Add many rows."""
        self._gather()
        self._tables.append(table)
        self._added(table.num_rows)

    def _added(self, rows: int) -> None:
        self._waiting += rows
        if self._waiting >= GROUP_ROWS:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        import pyarrow as pa

        self._gather()
        tables = self._tables or [self.schema.empty_table()]
        self._file.write_table(pa.concat_tables(tables).unify_dictionaries())
        self._tables.clear()
        self._waiting = 0

    def _gather(self) -> None:
        """Make a table of single rows."""
        import pyarrow as pa

        if not self._rows:
            return
        arrays = [
            pa.array(column, field.type)
            for column, field in zip(zip(*self._rows, strict=True), self.schema, strict=True)
        ]
        self._tables.append(pa.table(arrays, schema=self.schema))
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

    def add_batch(self, batch: WindowBatch) -> None:
        """Add many windows."""
        first, self.count = self.count, self.count + batch.fields.size
        self._windows.add_table(window_table(batch, first, REASONS, self._windows.schema))
        self._events.add_table(event_table(batch.events, first, self._events.schema))

    def flush(self) -> None:
        """Write what waits."""
        self._windows.flush()
        self._events.flush()


class Wanted(Protocol):
    """Says which windows are read: the others cost little, however many there are."""

    def __call__(self, cpu: Int64s, activation: Int64s, control: Bools) -> Bools:
        """Return which of these windows are wanted, bool, shape (n,); control: of that reason."""


def read_windows(directory: Path, wanted: Wanted | None = None) -> Iterator[Window]:
    """Yield the windows of a recording, one at a time; raises RecordingError.

    wanted: asked of some windows after the others, in their order. Memory is bounded by a row
    group of each file.
    """
    with window_errors(directory):
        numbers = None if wanted is None else _wanted_numbers(directory / WINDOWS, wanted)
        events = _Rows(directory / EVENTS, numbers)
        for row in _rows(directory / WINDOWS, _WINDOW_TYPES, numbers):
            yield _window(row, events.of_window(row["window"]))


def count_controls(directory: Path) -> int:
    """Return how many windows are of control activations; raises RecordingError."""
    with window_errors(directory):
        return sum(
            int(np.count_nonzero(control)) for *_, control in _window_keys(directory / WINDOWS)
        )


def _wanted_numbers(path: Path, wanted: Wanted) -> Int64s:
    """Return the numbers of the windows that are wanted, int64, sorted."""
    numbers = [
        number[wanted(cpu, activation, control)]
        for number, cpu, activation, control in _window_keys(path)
    ]
    return np.sort(np.concatenate([*numbers, np.zeros(0, np.int64)]))


def _window_keys(path: Path) -> Iterator[tuple[Int64s, Int64s, Int64s, Bools]]:
    """Yield number, CPU, activation of windows, and whether they are of control activations."""
    import pyarrow.parquet as pq

    former = {current: name for name, current in FORMER_WINDOWS.items()}
    with pq.ParquetFile(path, pre_buffer=False) as file:
        names = file.schema_arrow.names
        columns = ["window", "cpu", "activation", "reason"]
        columns = [name if name in names else former.get(name, name) for name in columns]
        for batch in file.iter_batches(batch_size=1 << 14, columns=columns):
            number, cpu, activation = (
                batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64)
                for name in columns[:3]
            )
            reason = batch.column(columns[3]).to_pylist()
            yield number, cpu, activation, np.array([text in _CONTROLS for text in reason], bool)


def window_errors(directory: Path) -> AbstractContextManager[None]:
    """Raise RecordingError for what reading the windows raises."""
    return parquet_errors(f"{directory}: its windows cannot be read")


def _rows(path: Path, types: dict[str, str], numbers: Int64s | None) -> Iterator[dict[str, Any]]:
    for batch in _batches(path, types, numbers):
        yield from map(convert_window, batch.to_pylist())


def _batches(path: Path, types: dict[str, str], numbers: Int64s | None) -> Iterator[Any]:
    """Yield rows some at a time, those of the windows with these numbers."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False) as file:
        columns = [name for name in (*types, *FORMER_WINDOWS) if name in file.schema_arrow.names]
        known = {FORMER_WINDOWS.get(name, name) for name in columns}
        missing = set(types) - known - _LATER
        if missing:
            raise RecordingError(f"{path} was not written by whylate: it lacks {min(missing)}")
        for batch in file.iter_batches(batch_size=1 << 14, columns=columns):
            if numbers is None:
                yield batch
                continue
            own = batch.column("window").to_numpy(zero_copy_only=False)
            at = np.minimum(np.searchsorted(numbers, own), max(numbers.size - 1, 0))
            wanted = numbers[at] == own if numbers.size else np.zeros(own.size, bool)
            yield batch.filter(pa.array(wanted))


class _Rows:
    """The rows of events.parquet, handed out window by window."""

    def __init__(self, path: Path, numbers: Int64s | None) -> None:
        self._path = path
        self._rows = _events(path, numbers)
        self._next = next(self._rows, None)

    def of_window(self, window: int) -> list[Event]:
        """Return the events of the next window."""
        events: list[Event] = []
        while self._next is not None and self._next[0] <= window:
            if self._next[0] == window:
                events.append(self._next[1])
            if len(events) > MOST_EVENTS:
                raise RecordingError(f"{self._path}: window {window} has too many events")
            self._next = next(self._rows, None)
        return events


def _events(path: Path, numbers: Int64s | None) -> Iterator[tuple[int, Event]]:
    """Yield events, and the number of the window of each."""
    texts: dict[str, str] = {}
    for batch in _batches(path, _EVENT_TYPES, numbers):
        columns = {name: _values(batch.column(name), texts) for name in _EVENT_TYPES}
        columns["kind"] = [_KINDS.get(kind) or Kind(kind) for kind in columns["kind"]]
        columns["stack"] = [tuple(stack) if stack else () for stack in columns["stack"]]
        window = columns.pop("window")
        for number, values in zip(
            window, zip(*(columns[name] for name in _EVENT_ORDER), strict=True), strict=True
        ):
            yield number, Event(*values)


def _values(column: Any, texts: dict[str, str]) -> list[Any]:
    """Return a column's values; equal texts are one, of all that were read before too."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type) or column.null_count:
        values: list[Any] = column.to_pylist()
        return values
    shared = [texts.setdefault(text, text) for text in column.dictionary.to_pylist()]
    return [shared[index] for index in column.indices.to_pylist()]


def _window(row: dict[str, Any], events: list[Event]) -> Window:
    reason = row["reason"]
    if reason not in REASONS:
        raise ValueError(f"a window for {reason!r}")
    own: dict[str, Any] = {
        name: row.get(name) for name in _WINDOW_TYPES if name not in {"window", *SUMS}
    }
    return Window(
        **own,
        events=tuple(events),
        sums=tuple(row[name] for name in SUMS),
    )


def checked_windows(
    directory: Path, manifest: Manifest, wanted: Wanted | None = None
) -> Iterator[Window]:
    """Yield the windows of a recording as read_windows() does; raises RecordingError.

    All types are what whylate writes, nothing is missing that has a value in every row, times are
    possible, and every window is of a CPU that was measured.
    """
    with window_errors(directory):
        _check(directory / WINDOWS, window_schema(), manifest)
        _check(directory / EVENTS, event_schema(), None)
    yield from read_windows(directory, wanted)


def _check(path: Path, schema: Any, manifest: Manifest | None) -> None:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False) as file:
        there = [field for field in schema if field.name in file.schema_arrow.names]
        for field in there:
            kind = file.schema_arrow.field(field.name).type
            if kind != field.type:
                raise RecordingError(f"{path}: column {field.name} is {kind}, not {field.type}")
        names = [field.name for field in there]
        for batch in file.iter_batches(batch_size=1 << 14, columns=names):
            for field in there:
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
