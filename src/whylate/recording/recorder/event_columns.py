"""Events of many windows in words, as the columns of events.parquet.

What an event is called depends on little, and comes again and again: each name is made once a
batch, by what names single events (raw_events), and looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.events import Event, Kind
from whylate.recording.recorder.raw_events import LARGEST, Names, event_kind, name_event
from whylate.wire.constants import EventKind
from whylate.wire.event_batches import EventBatch
from whylate.wire.events import RawEvent

Int64s = NDArray[np.int64]

_LARGEST = np.array(LARGEST, np.uint64)[:, np.newaxis]
#: Which field is a length of time, which is no part of a name.
_LENGTHS = {EventKind.NMI: 4, EventKind.STEAL: 4, EventKind.STACK: 3, EventKind.CALLBACK: 3,
            EventKind.HOOK: 3}  # fmt: skip


@dataclass(frozen=True)
class EventColumns:
    """Named events, in the order in which they are in events.parquet.

    window: int64, shape (n,), an index of the batch. cpu, time_ns, target_cpu, duration_ns: int64,
    shape (n,). named: int64, shape (n,), which of `names` has the other fields of each. stacks: for
    each event with frames behind its own first, by its index, the functions.
    """

    window: Int64s
    cpu: Int64s
    time_ns: Int64s
    target_cpu: Int64s
    duration_ns: Int64s
    named: Int64s
    names: Sequence[Event]
    stacks: dict[int, tuple[str, ...]]


def name_batch(
    batch: EventBatch, window: Int64s, cpu: Int64s, names: Names, machine: str
) -> EventColumns | None:
    """Return the events of windows in words; machine: of uname. Unknown kinds are left out.

    window, cpu: int64, shape (messages,), of each message. None where a number is larger than any
    of a board: such events are named one by one.
    """
    if (batch.fields[: len(LARGEST)] > _LARGEST).any():
        return None
    # Events of one CPU in a window belong together, as frames do to their stack.
    pairs = window * (int(cpu.max(initial=0)) + 1) + cpu
    _, first, which = np.unique(pairs, return_index=True, return_inverse=True)
    series = first[which][batch.message]
    order = np.argsort(series, kind="stable")
    kind, time_ns, fields = batch.kind[order], batch.time_ns[order], batch.fields[:, order]
    series, message = series[order], batch.message[order]
    window, cpu = window[message], cpu[message]

    known = np.isin(kind, [kind for kind in range(256) if event_kind(kind) is not None])
    frames = kind == EventKind.FRAMES
    stacks = _stacks(kind, fields, series, known & ~frames, names)

    rows = np.flatnonzero(known & ~frames)
    named, unique = _named(kind[rows], fields[:, rows], names, machine)
    duration_ns = np.zeros(rows.size, np.int64)
    for of_kind, index in _LENGTHS.items():
        own = kind[rows] == of_kind
        duration_ns[own] = fields[index, rows[own]].view(np.int64)
    target = np.array([event.target_cpu for event in unique], np.int64)[named]

    # What was sent to several CPUs is an event for each.
    several = np.flatnonzero((kind[rows] == EventKind.IPI_SEND) & (fields[5, rows] != 0))
    copies = np.ones(rows.size, np.int64)
    bits = [_bits(int(mask)) for mask in fields[5, rows[several]]]
    copies[several] = [len(each) for each in bits]
    spread = np.repeat(np.arange(rows.size), copies)
    target = target[spread]
    begins = np.cumsum(copies) - copies
    for place, each in zip(several.tolist(), bits, strict=True):
        low = int(begins[place])
        target[low : low + len(each)] = int(fields[1, rows[place]]) + np.array(each)

    rows = rows[spread]
    order = np.lexsort((time_ns[rows], window[rows]))
    where = np.flatnonzero(np.isin(rows[order], np.array([*stacks], np.int64)))
    return EventColumns(
        window=window[rows][order],
        cpu=cpu[rows][order],
        time_ns=time_ns[rows][order],
        target_cpu=target[order],
        duration_ns=duration_ns[spread][order],
        named=named[spread][order],
        names=unique,
        stacks={at: stacks[int(rows[order[at]])] for at in where.tolist()},
    )


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(mask.bit_length()) if mask >> bit & 1]


def _stacks(
    kind: Int64s, fields: NDArray[np.uint64], series: Int64s, kept: NDArray[np.bool_], names: Names
) -> dict[int, tuple[str, ...]]:
    """Return the functions of the frames behind each event that is a stack, by its index."""
    frames = np.flatnonzero(kind == EventKind.FRAMES)
    last = np.maximum.accumulate(np.where(kept, np.arange(kind.size), -1))[frames]
    own = (last >= 0) & (series[last] == series[frames]) & (kind[last] == EventKind.STACK)
    functions: dict[int, str] = {0: ""}
    stacks: dict[int, list[str]] = {}
    owners, pairs = last[own].tolist(), fields[4:, frames[own]].T.tolist()
    for owner, pair in zip(owners, pairs, strict=True):
        for number in pair:
            if number not in functions:
                functions[number] = names.function(number)
            if functions[number]:
                stacks.setdefault(owner, []).append(functions[number])
    return {owner: tuple(stack) for owner, stack in stacks.items()}


def _named(
    kind: Int64s, fields: NDArray[np.uint64], names: Names, machine: str
) -> tuple[Int64s, list[Event]]:
    """Return which event in words each is, int64, shape (n,), and these, without their times."""
    keys = np.concatenate((kind.astype(np.uint64)[np.newaxis], fields))
    for of_kind, index in _LENGTHS.items():
        keys[1 + index, kind == of_kind] = 0
    data = np.ascontiguousarray(keys.T)
    # As texts of bytes, which lose the zeros at their end: a dictionary finds them fast.
    size = data.shape[1] * data.itemsize
    pieces = data.view(f"S{size}")[:, 0].tolist()
    places = {piece: place for place, piece in enumerate(dict.fromkeys(pieces))}
    named = np.fromiter(map(places.__getitem__, pieces), np.int64, len(pieces))
    unique = [np.frombuffer(piece.ljust(size, b"\0"), np.uint64).tolist() for piece in places]
    return named, [name_event(RawEvent(0, *row), 0, names, machine) for row in unique]


def column(events: Sequence[Event], name: str) -> list[Any]:
    """Return a field of events; the texts of kinds are their values."""
    values = [getattr(event, name) for event in events]
    return [value.value for value in values] if values and isinstance(values[0], Kind) else values
