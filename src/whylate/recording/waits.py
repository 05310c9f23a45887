"""What a watched program's threads wait for, in groups of waits that are alike.

A wait lasts from when a thread leaves the CPU until it is due. No wakeup latency has any of it:
that begins where the wait ends. The probe counts durations in bins, 16 an octave (block `waits` of
schema/wire.toml), so that a long run takes no more memory.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta

from whylate.recording.bounds import Count, TimeNs
from whylate.wire.app_samples import ORIGINS
from whylate.wire.blocks import decode_numbers, decode_rows
from whylate.wire.codec import WireError
from whylate.wire.constants import HIGHEST_PID, MOST_WAITS, WAIT_BINS
from whylate.wire.messages import AppWait

#: Bins in an octave; below that many ns each has a bin of its own.
PARTS = 16
#: What ends a wait; "": of waits that have no group of their own.
Origin = Literal["", "timer", "interrupt", "softirq", "thread"]
#: By the lowest bits of task_struct.__state (include/linux/sched.h).
States = Literal["interruptible", "uninterruptible", "stopped", "other"]
Pid = Annotated[int, Meta(ge=0, le=HIGHEST_PID)]

_STATES: dict[int, States] = {1: "interruptible", 2: "uninterruptible", 4: "stopped", 8: "stopped"}


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


def decode_wait(message: AppWait) -> WaitReport:
    """Return a group of waits without names; raises WireError for what no board can have seen."""
    rows = decode_rows(decode_numbers(message.data), message.bins, "waits")
    if rows.size and (int(rows.min()) < 0 or int(np.max(rows[:, 1])) > MOST_WAITS):
        raise WireError("an impossible number of waits")
    try:
        return msgspec.convert(
            {
                "pid": message.tid,
                "waker": message.waker,
                "origin": ORIGINS[message.origin] if message.origin else "",
                "state": _STATES.get(message.state, "other"),
                "system_call": message.system_call - 1 if message.system_call else None,
                "futex": message.futex,
                "count": message.count,
                "total_ns": message.total_ns,
                "longest_ns": message.longest_ns,
                "bins": rows.tolist(),
            },
            WaitReport,
        )
    except msgspec.ValidationError as error:
        raise WireError(f"waits of a program: {error}") from None
