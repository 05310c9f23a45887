"""What a watched program's threads wait for, in groups of waits that are alike.

A wait lasts from when a thread leaves the CPU until it is due. No wakeup latency has any of it:
that begins where the wait ends. The probe counts durations in bins, 16 an octave (block `waits` of
schema/wire.toml), so that a long run takes no more memory.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from whylate.recording.bounds import Count, TimeNs
from whylate.wire.constants import HIGHEST_PID, MOST_WAITS, WAIT_BINS

#: Bins in an octave; below that many ns each has a bin of its own.
PARTS = 16
#: What ends a wait; "": of waits that have no group of their own.
Origin = Literal["", "timer", "interrupt", "softirq", "thread"]
States = Literal["interruptible", "uninterruptible", "stopped", "other"]
Pid = Annotated[int, Meta(ge=0, le=HIGHEST_PID)]


class WaitBin(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """How many waits fell into a bin: [bin, count]."""

    bin: Annotated[int, Meta(ge=0, le=WAIT_BINS - 1)]
    count: Annotated[int, Meta(ge=1, le=MOST_WAITS)]


class WaitReport(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Waits of one thread in one place that the same thread, or an interrupt, ended.

    pid 0: all waits that have no group of their own, of any thread. waker 0: no thread ended them,
    or it is not known which. system_call: its number, None where it waited in none or it is not
    known which; system_call_name: "" where the number has none. futex: its address in the program,
    0: of none. bins: in ascending order.
    """

    pid: Pid
    waker: Pid = 0
    waker_name: str | None = None
    origin: Origin = ""
    state: States = "other"
    system_call: Annotated[int, Meta(ge=0, le=(1 << 16) - 1)] | None = None
    system_call_name: str = ""
    futex: Count = 0
    count: Annotated[int, Meta(ge=1, le=MOST_WAITS)]
    total_ns: Count
    longest_ns: TimeNs
    bins: Annotated[list[WaitBin], Meta(min_length=1, max_length=WAIT_BINS)]

    def __post_init__(self) -> None:
        """Raise ValueError for numbers that contradict each other."""
        numbers = [part.bin for part in self.bins]
        if any(later <= before for before, later in pairwise(numbers)):
            raise ValueError("bins of waits in no order")
        if sum(part.count for part in self.bins) != self.count:
            raise ValueError("waits that are in no bin")
        if bin_of(self.longest_ns) != numbers[-1]:
            raise ValueError("a longest wait that is not in the last bin")
        least_ns = sum(part.count * bin_edges(part.bin)[0] for part in self.bins)
        if not least_ns <= self.total_ns <= self.count * self.longest_ns:
            raise ValueError("waits that take another time than all of them together")
        if (self.waker and self.origin != "thread") or bool(self.pid) != bool(self.origin):
            raise ValueError("waits that nothing could have ended so")


def bin_of(wait_ns: int) -> int:
    """Return the bin of a wait; the last one has all that are longer."""
    if wait_ns < PARTS:
        return wait_ns
    octave = wait_ns.bit_length() - 1
    return min((octave - 3) * PARTS + (wait_ns >> octave - 4) % PARTS, WAIT_BINS - 1)


def bin_edges(number: int) -> tuple[int, int]:
    """Return the shortest wait in a bin, and the shortest above it, ns."""
    if number < PARTS:
        return number, number + 1
    shift = number // PARTS - 1
    low = (PARTS + number % PARTS) << shift
    return low, low + (1 << shift)
