"""Events and stages as they travel.

An event is what the recorder keeps of it: a kind and six numbers, whose meaning is in
schema/wire.toml. What they mean in words is whylate.recording.recorder.raw_events' to say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from whylate.wire.blocks import decode_numbers, decode_rows
from whylate.wire.codec import WireError
from whylate.wire.constants import BLOCKS, LATEST_NS
from whylate.wire.messages import Events, SampleStages

#: a, b, c, d, e, f
FIELDS = 6
#: By the mask of those that were sent.
_FIELDS_OF = [[i for i in range(FIELDS) if mask >> i & 1] for mask in range(1 << FIELDS)]
STAGE_COLUMNS = len(BLOCKS["stages"])


class RawEvent(NamedTuple):
    """One event: when, which, and its six numbers; a kind that is not known is kept."""

    time_ns: int
    kind: int
    a: int
    b: int
    c: int
    d: int
    e: int
    f: int


def decode_events(block: Events, due_ns: int) -> list[RawEvent]:
    """Return the events of a message, whose times are counted from due_ns on.

    Raises WireError for data that is not just so many events.
    """
    data, size = block.data, len(block.data)
    events: list[RawEvent] = []
    at, time_ns = 0, due_ns
    for _ in range(block.count):
        if at + 2 > size:
            raise WireError(f"a block of {block.count} events ends after {len(events)}")
        kind, mask = data[at], data[at + 1]
        at += 2
        if mask >> FIELDS:
            raise WireError("an event has fields that there are not")
        step, at = _number(data, at)
        time_ns += (step >> 1) ^ -(step & 1)
        if not 0 <= time_ns <= LATEST_NS:
            raise WireError(f"an event at the impossible time of {time_ns} ns")
        fields = [0] * FIELDS
        for index in _FIELDS_OF[mask]:
            # Most are of one byte.
            if at < size and data[at] < 0x80:
                fields[index] = data[at]
                at += 1
            else:
                fields[index], at = _number(data, at)
        events.append(RawEvent(time_ns, kind, *fields))
    if at != size:
        raise WireError(f"a block of {block.count} events is longer than they are")
    return events


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise WireError("a block of events ends inside a number")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    if value >> 64:
        raise WireError("a block of events holds a number of more than 64 bits")
    return value, at


def decode_stages(block: SampleStages) -> NDArray[np.int64]:
    """Return the stages of the activations of a block, int64 ns since due, shape (count, 3).

    NOT_SEEN where nobody saw it. Raises WireError for data that is not just so many.
    """
    return decode_rows(decode_numbers(block.data), block.count, "stages")
