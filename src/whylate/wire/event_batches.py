"""The messages `events`, many of them side by side: what whylate.wire.events decodes one by one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.wire.blocks import decode_numbers, numbers_in, signed
from whylate.wire.codec import WireError
from whylate.wire.constants import HIGHEST_CPU, LATEST_NS
from whylate.wire.events import FIELDS
from whylate.wire.frame_batches import FrameBatch

Int64s = NDArray[np.int64]

#: Of the message `events` (schema/wire.toml): behind the last is the data, with its length.
_FIELDS = np.dtype([("cpu", "<u2"), ("count", "<u2"), ("size", "<u2")])
#: By the mask of the fields that were sent, how many they are.
_SENT = np.array([mask.bit_count() for mask in range(1 << FIELDS)])
#: Five hours: sums of as many as a batch holds fit 64 bits.
_LONGEST_STEP_NS = 1 << 44


@dataclass(frozen=True, slots=True)
class EventBatch:
    """Events in the order in which they came.

    message: int64, shape (n,), which of the messages each is of. time_ns, kind: int64, shape (n,).
    fields: uint64, shape (6, n): a to f.
    """

    message: Int64s
    time_ns: Int64s
    kind: Int64s
    fields: NDArray[np.uint64]


def unpack_events(frames: FrameBatch) -> tuple[Int64s, Int64s, Int64s] | None:
    """Return the CPU of each message, its events, and where its data begins; None if malformed.

    int64, shape (n,) each. The data ends with the frame's payload.
    """
    size = frames.end - frames.start
    if (size < _FIELDS.itemsize).any():
        return None
    fields = frames.head(_FIELDS.itemsize).view(_FIELDS)[:, 0]
    if (fields["size"] != size - _FIELDS.itemsize).any() or (fields["cpu"] > HIGHEST_CPU).any():
        return None
    start = frames.start + _FIELDS.itemsize
    return fields["cpu"].astype(np.int64), fields["count"].astype(np.int64), start


def decode_event_batch(
    data: bytes, start: Int64s, end: Int64s, count: Int64s, due_ns: Int64s
) -> EventBatch | None:
    """Return the events of several messages.

    start, end: where the data of each is; count: its events; due_ns: what their times are counted
    from; int64, shape (n,). None where any has to be decoded alone: it is malformed, or its numbers
    are larger than a board's.
    """
    bounds = zip(start.tolist(), end.tolist(), strict=True)
    raw = np.frombuffer(b"".join([data[low:high] for low, high in bounds]), np.uint8)
    inside = numbers_in(raw, np.cumsum(end - start))
    # Each event has a kind, a mask and a step.
    if (inside < 3 * count).any() or ((count == 0) & (inside != 0)).any():
        return None
    try:
        numbers = decode_numbers(raw)
    except WireError:
        return None
    at = _events_at(numbers, np.cumsum(inside), count)
    if at is None:
        return None
    ends = np.flatnonzero(raw < 0x80)
    size = np.diff(ends, prepend=-1)
    if (size[at] > 1).any() or (size[at + 1] > 1).any():
        # Kind and mask are bytes, and no numbers.
        return None
    message = np.repeat(np.arange(count.size), count)
    steps = signed(numbers[at + 2])
    if steps.size and max(int(steps.max()), -int(steps.min())) > _LONGEST_STEP_NS:
        return None
    time_ns = np.cumsum(steps)
    first = np.cumsum(count) - count
    before = np.where(first > 0, time_ns[np.maximum(first - 1, 0)], 0) if steps.size else first
    time_ns += np.repeat(due_ns - before, count)
    if time_ns.size and not 0 <= int(time_ns.min()) <= int(time_ns.max()) <= LATEST_NS:
        return None
    return EventBatch(message, time_ns, numbers[at].view(np.int64), _fields(numbers, at))


def _events_at(numbers: NDArray[np.uint64], end: Int64s, count: Int64s) -> Int64s | None:
    """Return which number each event begins with, int64; None where they are not just so many.

    end: the number after those of each message, which may have 0 or more `count` events. The first
    events of all messages are begins_at together, then the second ones, and so on.
    """
    begins_at = np.empty(int(count.sum()), np.int64)
    first = np.cumsum(count) - count
    order = np.argsort(-count, kind="stable")
    longest = int(count.max(initial=0))
    # How many messages have more than so many events.
    with_more = count.size - np.searchsorted(np.sort(count), np.arange(longest), side="right")
    # Past the end are no fields; what goes there ends beyond it, and not where its message does.
    fields = _SENT[(numbers & np.uint64(_SENT.size - 1)).view(np.int64)][1:]
    length = 3 + np.append(fields, [0, 0, 0])
    begins = np.concatenate((np.zeros(1, np.int64), end[:-1]))
    after = begins.copy()
    at, place = begins[order], first[order]
    for number, live in enumerate(with_more.tolist()):
        at = at[:live]
        begins_at[place[:live] + number] = at
        at = np.minimum(at + length[at], numbers.size + 1)
        after[order[:live]] = at
    if (after != end).any() or (numbers[begins_at + 1] >= _SENT.size).any():
        return None
    return begins_at


def _fields(numbers: NDArray[np.uint64], at: Int64s) -> NDArray[np.uint64]:
    """Return the six numbers of each event, 0 where one was not sent."""
    mask = numbers[at + 1].view(np.int64)
    fields = np.zeros((FIELDS, at.size), np.uint64)
    place = at + 3
    for index in range(FIELDS):
        sent = np.flatnonzero(mask >> index & 1)
        fields[index, sent] = numbers[place[sent]]
        place[sent] += 1
    return fields
