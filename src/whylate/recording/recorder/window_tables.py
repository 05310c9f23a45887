"""Many windows as Arrow tables, as windows.parquet and events.parquet have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whylate.recording.recorder.event_columns import EventColumns, column
from whylate.recording.recorder.window_batches import WindowBatch


def window_table(batch: WindowBatch, first: int, reasons: Sequence[str], schema: Any) -> Any:
    """Return the rows of windows; first: the number of the first one."""
    import pyarrow as pa

    fields = batch.fields
    count = fields.size
    run_ns = fields["run_ns"].astype(np.int64)
    observed = batch.whole & (fields["events"] > 0)
    columns: dict[str, Any] = {
        "window": first + np.arange(count),
        "cpu": fields["cpu"],
        "activation": fields["activation"],
        "pid": fields["tid"],
        "prio": fields["prio"],
        "reason": _coded(reasons, fields["reason"]),
        "due_ns": fields["due_ns"],
        "run_ns": run_ns,
        "waking_cpu": _known(fields["waking_cpu"], fields["waking_ns"] != 0, "int32"),
        # Of a window with lost events nothing counts as observed.
        "observed_ns": np.where(observed, fields["observed_ns"].astype(np.int64), run_ns),
    }
    for name in ("timer_ns", "waking_ns", "switched_ns"):
        columns[name] = _known(fields[name], fields[name] != 0, "int64")
    columns |= {name: batch.sums[:, index] for index, name in enumerate(schema.names[-6:])}
    return pa.table([_cast(columns[field.name], field) for field in schema], schema=schema)


def event_table(events: EventColumns, first: int, schema: Any) -> Any:
    """Return the rows of events; first: the number of the first window."""
    import pyarrow as pa

    named, names = events.named, events.names
    columns: dict[str, Any] = {
        "window": first + events.window,
        "cpu": events.cpu,
        "time_ns": events.time_ns,
        "target_cpu": events.target_cpu,
        "duration_ns": events.duration_ns,
        "stack": _stacks(events),
        "enabled": pa.array(column(names, "enabled"), pa.bool_()).take(pa.array(named)),
    }
    for name in ("kind", "name", "prev_state"):
        columns[name] = _texts(column(names, name), named)
    for name in ("id", "prio", "prev_id", "prev_prio"):
        columns[name] = np.array(column(names, name), np.int64)[named]
    return pa.table([_cast(columns[field.name], field) for field in schema], schema=schema)


def _cast(column: Any, field: Any) -> Any:
    """Return a column of numbers as the type of a field; others are of it."""
    import pyarrow as pa

    if not isinstance(column, np.ndarray):
        return column
    return pa.array(column.astype(field.type.to_pandas_dtype()), field.type)


def _known(values: Any, known: Any, kind: str) -> Any:
    import pyarrow as pa

    return pa.array(values.astype(kind), mask=~known)


def _coded(texts: Sequence[str], codes: Any) -> Any:
    """Return texts by their codes, those that occur in the order in which they do."""
    return _texts([texts[code] for code in codes.tolist()], np.arange(codes.size))


def _texts(texts: Sequence[str], which: Any) -> Any:
    """Return a column of texts of which there are few."""
    import pyarrow as pa

    coded = pa.array(texts, pa.string()).dictionary_encode()
    indices = coded.indices.to_numpy()[which]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), coded.dictionary)


def _stacks(events: EventColumns) -> Any:
    """Return the functions of each event; of most there are none."""
    import pyarrow as pa

    begins = np.array([len(event.stack) for event in events.names], np.int64)[events.named]
    some = np.union1d(np.flatnonzero(begins), np.array([*events.stacks], np.int64)).tolist()
    sizes = np.zeros(events.named.size + 1, np.int32)
    functions: list[str] = []
    for at in some:
        stack = (*events.names[events.named[at]].stack, *events.stacks.get(at, ()))
        sizes[at + 1] = len(stack)
        functions += stack
    offsets = pa.array(np.cumsum(sizes), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(functions, pa.string()))
