"""One CPU of a trace: its last events, what has begun on it and not ended, and its time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from whylate.recording.activation import Activation
from whylate.recording.events import Kind
from whylate.recording.traces.fields import Record
from whylate.recording.traces.timers import Distance

#: No more is nested on a real machine, and threads that were left within a softirq are few.
DEEPEST = 16
MOST_LEFT = 1024
#: Times of a CPU may step back by this much where buffers were merged: they count as equal.
MERGED_NS = 100_000

_ENDS = {
    Kind.IRQ_EXIT: Kind.IRQ_ENTRY,
    Kind.VECTOR_EXIT: Kind.VECTOR_ENTRY,
    Kind.SOFTIRQ_EXIT: Kind.SOFTIRQ_ENTRY,
    Kind.TIMER_EXIT: Kind.TIMER_ENTRY,
}


class Cpu:
    """The state of a CPU while a trace goes by."""

    __slots__ = ("awaited", "cpu", "distance", "first_ns", "gap", "last_kind", "last_ns", "left",
                 "open", "raised", "ring", "thread")  # fmt: skip

    def __init__(self, cpu: int, room: int) -> None:
        self.cpu = cpu
        #: The last records; a record of None: what precedes was not observed.
        self.ring: deque[Record] = deque(maxlen=room)
        self.open: list[Record] = []
        self.left: dict[int, list[Record]] = {}
        #: When each softirq was raised and has not begun since, by its vector's text.
        self.raised: dict[bytes, int] = {}
        self.thread = -1
        #: From here on nothing of it is missing, and its last event.
        self.first_ns = -1
        self.last_ns = -1
        self.last_kind: Kind | None = None
        self.gap = False
        self.distance = Distance()
        #: Activations that ran here a moment ago: their stacks may follow.
        self.awaited: list[Activation] = []

    def lost(self) -> None:
        """Mark that events are missing up to the next one."""
        self.gap = True
        self.open.clear()
        self.left.clear()
        self.raised.clear()
        self.thread = -1

    def goes_on(self, time_ns: int, kind: Kind | None) -> None:
        """Take the time of its next event, of whatever kind."""
        if self.gap:
            self.gap = False
            self.ring.append((time_ns, None, b"", 0))
        elif self.first_ns < 0:
            self.first_ns = time_ns
        self.last_ns = time_ns
        self.last_kind = kind

    def begins(self, record: Record) -> None:
        """Take the entry of an interrupt, softirq or timer."""
        if len(self.open) < DEEPEST:
            self.open.append(record)

    def ends(self, kind: Kind) -> None:
        """Take an exit: what had begun within lost its own."""
        entry = _ENDS[kind]
        for index in range(len(self.open) - 1, -1, -1):
            if self.open[index][1] is entry:
                del self.open[index:]
                return

    def switches(self, prev: int, pid: int) -> None:
        """Take a switch of threads: softirqs stay with the thread that they run in."""
        softirqs = [record for record in self.open if record[1] is Kind.SOFTIRQ_ENTRY]
        if len(self.left) >= MOST_LEFT:
            self.left.clear()
        if softirqs:
            self.left[prev] = softirqs
        self.open = self.left.pop(pid, [])
        self.thread = pid

    def back(self) -> Iterator[Record]:
        """Yield the records, the last one first."""
        return reversed(self.ring)
