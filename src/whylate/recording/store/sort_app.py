"""Sorting a program's activations by when they were due, on disk.

They come in the order in which they ran, which is nearly that in which they were due. Time is cut
into spans with about as many activations each; the rows of each span are gathered, and sorted in
memory.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from whylate.recording.samples import Int64s
from whylate.recording.store.stored_app import AppColumns
from whylate.recording.store.stored_samples import cut_rows

#: Rows that are sorted at a time; more where so many were due within one slot of time.
SPAN_ROWS = 1 << 20
_SLOTS = 1 << 16

_SpanOf = Callable[[Int64s], Int64s]


def sort_by_due(source: AppColumns) -> AppColumns:
    """Return the same rows in the order in which they were due; equal ones stay as they were."""
    rows = source.rows
    due = source.columns["due_ns"]
    ends = [_ends(due.read(*cut)) for cut in cut_rows(0, rows)]
    least = min((low for low, _ in ends), default=0)
    width = (max((high for _, high in ends), default=0) - least) // _SLOTS + 1
    counts = np.zeros(_SLOTS, np.int64)
    for cut in cut_rows(0, rows):
        counts += np.bincount((due.read(*cut) - least) // width, minlength=_SLOTS)
    span_of_slot = (np.cumsum(counts) - counts) // SPAN_ROWS
    sizes = np.zeros(int(span_of_slot[-1]) + 1, np.int64)
    np.add.at(sizes, span_of_slot, counts)
    first = np.cumsum(sizes) - sizes
    sorted_rows = AppColumns(rows)
    sorted_rows.overruns = source.overruns
    _gather(source, sorted_rows, lambda due_ns: span_of_slot[(due_ns - least) // width], first)
    for low, high in zip(first.tolist(), (first + sizes).tolist(), strict=True):
        _sort(sorted_rows, low, high)
    return sorted_rows


def _ends(due_ns: Int64s) -> tuple[int, int]:
    return int(due_ns.min()), int(due_ns.max())


def _gather(source: AppColumns, target: AppColumns, span_of: _SpanOf, first: Int64s) -> None:
    """Copy rows to their spans, each of which begins with a row of `first`."""
    free = first.copy()
    for low, high in cut_rows(0, source.rows):
        columns = {name: column.read(low, high) for name, column in source.columns.items()}
        span = span_of(columns["due_ns"])
        order = np.argsort(span, kind="stable")
        spans, begins = np.unique(span[order], return_index=True)
        for number, rows in zip(spans.tolist(), np.split(order, begins[1:]), strict=True):
            for name, column in target.columns.items():
                column.write(int(free[number]), columns[name][rows])
            free[number] += rows.size


def _sort(target: AppColumns, first: int, end: int) -> None:
    """Sort the rows first to end - 1."""
    due_ns = target.columns["due_ns"].read(first, end)
    if (due_ns[1:] >= due_ns[:-1]).all():
        return
    order: NDArray[np.intp] = np.argsort(due_ns, kind="stable")
    for column in target.columns.values():
        column.write(first, column.read(first, end)[order])
