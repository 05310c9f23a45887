"""Windows whose messages lie side by side in a journal, put together many at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.recording.recorder.event_columns import EventColumns, name_batch
from whylate.recording.recorder.raw_events import Names
from whylate.wire.blocks import INT64_MAX
from whylate.wire.constants import HIGHEST_CPU, LATEST_NS, RecorderSum
from whylate.wire.event_batches import decode_event_batch, unpack_events
from whylate.wire.frame_batches import FrameBatch
from whylate.wire.messages import Window

Int64s = NDArray[np.int64]

_TIMES = ("due_ns", "run_ns", "timer_ns", "waking_ns", "switched_ns", "observed_ns")
#: Of the message `window` (schema/wire.toml), with as many sums as the recorder sends.
_FIELDS = np.dtype([
    ("cpu", "<u2"), ("tid", "<u4"), ("prio", "u1"), ("reason", "u1"), ("activation", "<u8"),
    ("due_ns", "<u8"), ("run_ns", "<u8"), ("timer_ns", "<u8"), ("waking_ns", "<u8"),
    ("switched_ns", "<u8"), ("waking_cpu", "<u2"), ("observed_ns", "<u8"), ("events", "<u4"),
    ("size", "<u2"), ("sums", "<u8", (len(RecorderSum),)),
])  # fmt: skip


@dataclass(frozen=True)
class WindowBatch:
    """Windows and their events.

    fields: those of the messages, by name, shape (n,), sums (n, 6): 0 where none was recorded.
    whole: bool, shape (n,): whether all events of its own CPU came. events: of all of them.
    """

    fields: NDArray[np.void]
    sums: Int64s
    whole: NDArray[np.bool_]
    events: EventColumns


def decode_windows(
    frames: FrameBatch, names: Names, machine: str, highest_reason: int
) -> WindowBatch | None:
    """Return the windows in frames of windows and events, of which the first is a window.

    names: of the events; machine: of uname. None where any has to be put together alone.
    """
    is_window = frames.kind == Window.KIND
    windows, events = frames.select(is_window), frames.select(~is_window)
    if (windows.end - windows.start != _FIELDS.itemsize).any():
        return None
    fields = windows.head(_FIELDS.itemsize).view(_FIELDS)[:, 0]
    if (
        (fields["size"] != len(RecorderSum)).any()
        or (fields["cpu"] > HIGHEST_CPU).any()
        or (fields["reason"] > highest_reason).any()
        or (fields["tid"] > 0x7FFFFFFF).any()
        or (fields["activation"] > INT64_MAX).any()
        or any((fields[name] > LATEST_NS).any() for name in _TIMES)
        or (fields["run_ns"] < fields["due_ns"]).any()
    ):
        return None
    unpacked = unpack_events(events)
    if unpacked is None:
        return None
    cpu, count, start = unpacked
    window = (np.cumsum(is_window) - 1)[~is_window]
    due_ns = fields["due_ns"].astype(np.int64)
    batch = decode_event_batch(events.data, start, events.end, count, due_ns[window])
    if batch is None:
        return None
    columns = name_batch(batch, window, cpu, names, machine)
    if columns is None:
        return None
    own = fields["cpu"][window] == cpu
    came = np.bincount(window[own], count[own], len(windows)).astype(np.int64)
    # A difference of sums is modulo 2^64: a negative one is a sum that was not recorded.
    sums = np.where(fields["sums"] <= INT64_MAX, fields["sums"], 0).astype(np.int64)
    return WindowBatch(fields, sums, came == fields["events"], columns)
