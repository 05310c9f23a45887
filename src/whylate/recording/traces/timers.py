"""When a high-resolution timer was due, on the clock of the trace.

A timer's start has the time of its expiry, and its expiry the time then (`now`), both by the
timer's own clock. The trace may have another, whose distance from that one is learned: no
event is written before the time that it tells, so the least distance of late is taken for it.
What was learned goes out of date, for two clocks drift apart.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Timers that are known at a time; the oldest that has not expired is dropped.
MOST_TIMERS = 1 << 16
#: The least distance is that of the last 10 to 20 ms: at 100 ppm clocks drift by 2 µs meanwhile.
FORGET_NS = 10_000_000
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


@dataclass
class _Clock:
    """The least distances of a clock of timers: of the time since `since_ns`, and before."""

    since_ns: int
    least: int
    before: int

    def add(self, time_ns: int, distance: int) -> int:
        """Add a distance; return the recent minimum."""
        away = time_ns - self.since_ns
        if away > FORGET_NS:
            self.before = self.least if away <= 2 * FORGET_NS else distance
            self.since_ns, self.least = time_ns, distance
        self.least = min(self.least, distance)
        return min(self.least, self.before)


class Distance:
    """How far a CPU's trace clock is from the clocks of timers."""

    def __init__(self) -> None:
        self._clocks: list[_Clock] = []

    def trace_time(self, time_ns: int, now_ns: int) -> int:
        """Return the trace's time of `now_ns`, a timer's clock; time_ns: of the event."""
        distance = time_ns - now_ns
        for clock in self._clocks:
            if abs(distance - clock.least) < SAME_CLOCK_NS:
                distance = clock.add(time_ns, distance)
                break
        else:
            clock = _Clock(time_ns, distance, distance)
            self._clocks = [*self._clocks[-MOST_CLOCKS + 1 :], clock]
        same = -ROUNDED_NS <= distance <= SAME_NS
        return now_ns if same else now_ns + distance
