"""When a high-resolution timer was due, on the clock of the trace.

A timer's start says when it is to expire, and its expiry what time it was then (`now`), both by
the timer's own clock. The trace may have another, whose distance from that one is learned: no
event is written before the time that it tells, so the least distance of late is taken for it.
What was learned goes out of date, for two clocks drift apart.
"""

from __future__ import annotations

#: Timers that are known at a time; one that was never seen to expire makes room for another.
MOST_TIMERS = 1 << 16
#: After this the least distance is learned again: at 100 ppm two clocks drift by 2 µs meanwhile.
FORGET_NS = 20_000_000
#: A distance that differs by more is that of another clock (CLOCK_REALTIME beside _MONOTONIC).
SAME_CLOCK_NS = 100_000_000
#: Clocks that timers are set by.
MOST_CLOCKS = 4
#: A timer that seems later than this was started by an event that was lost.
LATEST_NS = 60_000_000_000
#: The trace has the timers' clock where its events come that soon behind `now`; their times may
#: be rounded down to microseconds.
SAME_NS = 50_000
ROUNDED_NS = 1_000


class Timers:
    """The timers that were started, of all CPUs."""

    def __init__(self) -> None:
        self._due: dict[bytes, int] = {}

    def started(self, timer: bytes, due_ns: int) -> None:
        """Take a start; due_ns: when it is to expire, by its own clock."""
        if len(self._due) >= MOST_TIMERS:
            self._due.pop(next(iter(self._due)))
        self._due[timer] = due_ns

    def late(self, timer: bytes, now_ns: int) -> int | None:
        """Return how much later than it was due a timer expires; None where that is not known."""
        due_ns = self._due.pop(timer, None)
        if due_ns is None or not 0 <= now_ns - due_ns <= LATEST_NS:
            return None
        return now_ns - due_ns

    def forget(self) -> None:
        """Forget all: starts may have been lost."""
        self._due.clear()


class Distance:
    """How far a CPU's trace clock is from the clocks of timers."""

    def __init__(self) -> None:
        #: Least distance and when it was seen, of each clock.
        self._least: list[tuple[int, int]] = []

    def told(self, time_ns: int, now_ns: int) -> int:
        """Return when it was `now_ns`, on the clock of the trace; time_ns: of the event."""
        distance = time_ns - now_ns
        for index, (least, at) in enumerate(self._least):
            if abs(distance - least) < SAME_CLOCK_NS:
                if distance > least and time_ns - at <= FORGET_NS:
                    distance = least
                else:
                    self._least[index] = distance, time_ns
                return now_ns if _is_same(distance) else now_ns + distance
        self._least = [*self._least[-MOST_CLOCKS + 1 :], (distance, time_ns)]
        return now_ns if _is_same(distance) else time_ns


def _is_same(distance_ns: int) -> bool:
    return -ROUNDED_NS <= distance_ns <= SAME_NS
