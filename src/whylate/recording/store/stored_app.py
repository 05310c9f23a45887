"""The activations of a program's threads on disk, where they would not fit memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.samples import Bools, Int64s, NumberedRows, Stage
from whylate.recording.store.column_file import Column, ColumnFile
from whylate.recording.store.kept_rows import KeptRows
from whylate.recording.store.stored_samples import cut_rows
from whylate.wire.constants import NOT_SEEN

#: The columns of a program's activations.
KINDS: dict[str, Any] = {
    "activation": np.int64, "due_ns": np.int64, "latency_ns": np.int64, "overrun": np.bool_,
    "pid": np.int32,
}  # fmt: skip
#: Rows that are read around one that is looked for.
_STEP = 4096


@dataclass(frozen=True)
class StoredApp:
    """Activations of one CPU, sorted by when they were due (whylate.recording.samples.Activations).

    columns: by the names of KINDS. steps_ns: int64, when every _STEP-th of them was due.
    """

    cpu: int
    start_ns: int
    end_ns: int
    size: int
    overruns: int
    columns: dict[str, Column]
    steps_ns: Int64s
    _kept: KeptRows = field(default_factory=KeptRows, repr=False)

    @property
    def interval_ns(self) -> int:
        """A program's activations have no period."""
        return 0

    @property
    def staged(self) -> bool:
        """Of a program's activations the switch is the end, and not each had an interrupt."""
        return False

    @property
    def watched_ns(self) -> int:
        """The time that the CPU was watched, ns."""
        return max(0, self.end_ns - self.start_ns)

    @property
    def per_s(self) -> float:
        """Activations that come each second."""
        return self.size * 1e9 / max(self.watched_ns, 1)

    def chunks(self, first: int = 0, end: int | None = None) -> Iterator[tuple[Int64s, Bools]]:
        """Yield latencies and overruns of rows first to end - 1."""
        latency, overrun = self.columns["latency_ns"], self.columns["overrun"]
        for low, high in cut_rows(first, self.size if end is None else end):
            yield latency.read(low, high), overrun.read(low, high)

    def stage_chunks(
        self, stage: Stage, first: int = 0, end: int | None = None
    ) -> Iterator[NDArray[np.int32]]:
        """Yield that no stage was observed."""
        del stage
        for low, high in cut_rows(first, self.size if end is None else end):
            yield np.full(high - low, NOT_SEEN, np.int32)

    def thread_chunks(self) -> Iterator[NDArray[np.int32]]:
        """Yield whose the activations are."""
        for low, high in cut_rows(0, self.size):
            yield self.columns["pid"].read(low, high)

    def exceeding(self, limit_ns: int, *, overruns: bool = False) -> tuple[Int64s, Int64s, Bools]:
        """Return rows above a limit, and all overruns if asked for."""
        return self._kept.exceeding(self, limit_ns, overruns=overruns)

    def activation_of(self, rows: Int64s) -> Int64s:
        """Return the numbers of the activations in these rows, int64."""
        return _values(self.columns["activation"], rows)

    def due_of(self, rows: Int64s) -> Int64s:
        """Return when the activations in these rows were due, int64 ns."""
        return _values(self.columns["due_ns"], rows)

    def rows_due(self, times_ns: Int64s) -> Int64s:
        """Return the first row that was due at or after each time, int64; n where none was."""
        step = np.searchsorted(self.steps_ns, times_ns)
        row = np.zeros(step.shape, np.int64)
        for number in np.unique(step[step > 0]).tolist():
            # The first row of the next step was due at or after it, and that of this one before.
            first = (number - 1) * _STEP
            due_ns = self.columns["due_ns"].read(first, min(first + _STEP, self.size))
            own = step == number
            row[own] = first + np.searchsorted(due_ns, times_ns[own])
        return row

    def of_thread(self, pid: int) -> StoredApp:
        """Return the activations of one thread, in a file of their own."""
        rows = sum(int(np.count_nonzero(own == pid)) for own in self.thread_chunks())
        filling = AppColumns(rows)
        for low, high in cut_rows(0, self.size):
            own = self.columns["pid"].read(low, high) == pid
            filling.add(
                {name: column.read(low, high)[own] for name, column in self.columns.items()}
            )
        return stored_app(self.cpu, self.start_ns, self.end_ns, filling)


class AppColumns:
    """The columns of a CPU in a temporary file, while rows are added."""

    def __init__(self, rows: int) -> None:
        file = ColumnFile()
        self.rows = rows
        self.columns = {name: file.column(rows, kind) for name, kind in KINDS.items()}
        self.overruns = 0
        self._filled = 0

    def add(self, columns: dict[str, NDArray[Any]]) -> None:
        """Add the next rows; raises DiskError."""
        for name, column in self.columns.items():
            column.write(self._filled, columns[name])
        self._filled += columns["due_ns"].size
        self.overruns += int(np.count_nonzero(columns["overrun"]))


@dataclass(frozen=True)
class NumberedApp:
    """The same in the order of their numbers (whylate.recording.samples.Numbered)."""

    cpu: int
    start_ns: int
    columns: dict[str, Column]
    size: int

    def numbered(self) -> Iterator[NumberedRows]:
        """Yield all rows in the order of their numbers."""
        for low, high in cut_rows(0, self.size):
            number, due_ns, latency_ns, overrun = (
                self.columns[name].read(low, high)
                for name in ("activation", "due_ns", "latency_ns", "overrun")
            )
            yield NumberedRows(number, due_ns - self.start_ns, latency_ns, overrun)


def stored_app(cpu: int, start_ns: int, end_ns: int, filled: AppColumns) -> StoredApp:
    """Return activations that lie in the order in which they were due."""
    due = filled.columns["due_ns"]
    steps = [due.read(at, at + 1) for at in range(0, filled.rows, _STEP)]
    steps_ns = np.concatenate([np.zeros(0, np.int64), *steps])
    return StoredApp(cpu, start_ns, end_ns, filled.rows, filled.overruns, filled.columns, steps_ns)


def _values(column: Column, rows: Int64s) -> Int64s:
    """Return the values in these rows, which are read some at a time."""
    values = np.empty(rows.shape, np.int64)
    order = np.argsort(rows, kind="stable")
    step = rows[order] // _STEP
    edges = np.concatenate(([0], np.flatnonzero(np.diff(step)) + 1, [rows.size]))
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if low < high:
            these = order[low:high]
            first, end = int(rows[these[0]]), int(rows[these[-1]]) + 1
            values[these] = column.read(first, end)[rows[these] - first]
    return values
