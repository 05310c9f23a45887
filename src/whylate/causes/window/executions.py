"""An execution of a section cut into pieces, each with one cause.

The rule. Its thread is at every instant in one state on one CPU
(whylate.causes.window.whereabouts), and that CPU in one innermost context
(whylate.causes.window.timeline):

| context                        | running        | runnable                  | asleep          |
|--------------------------------|----------------|---------------------------|-----------------|
| not recorded                   | not observed   | not observed              | –               |
| NMI, spinning on a lock, a     | nmi, lock,     | the same                  | –               |
| function of others, interrupt  | hook, interrupt|                           |                 |
| softirq                        | softirq        | softirq                   | –               |
| the thread itself              | own code (1),  | scheduling                | –               |
|                                | or lock (2)    |                           |                 |
| another thread                 | –              | thread (3)                | –               |
| idle                           | –              | scheduling or a quota (4) | –               |
| any                            | –              | –                         | asleep or       |
|                                |                |                           | lock (2)        |

(1) It has the CPU, and nothing else was recorded there: its own work, what calls it, and what
leaves no event, such as firmware, the host, or disabled interrupts, which delay others alone. So it
is never significant. A section that begins in an interrupt or a softirq has that context, and lower
ones, as its own.
(2) For which it spins, or for which it went to sleep, or on its way back from there.
(3) Where the scheduler may prefer it or treats both as equal. A real-time thread does not wait for
a lower one by itself: of that no event says why. What is no longer than switching is scheduling,
the rest unexplained.
(4) A quota, where the kernel's timer that gives a new one ran while it was runnable; without it
scheduling, as far as that is usual (whylate.causes.episodes).

Asleep is named by what woke it. Where the waking, or the switch, was not recorded, the time is not
observed. Stopped by a signal is a state of its own. Then the time of the hypervisor replaces what
it overlaps, where the thread did not sleep. The pieces are disjoint, in order, and sum to the
duration.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from operator import attrgetter

from whylate.causes.window.overlays import overlay_steal
from whylate.causes.window.piece import Cause, Piece, Stage
from whylate.causes.window.pieces import (
    QUOTAS,
    TO_THE_SCHEDULER_NS,
    cause_in_any_stage,
    without_hooks,
)
from whylate.causes.window.stacks import function_name
from whylate.causes.window.timeline import Level, Segment, cut_segments, join_adjoining
from whylate.causes.window.whereabouts import Stay, follow_thread
from whylate.recording.activation import FAIR
from whylate.recording.events import Event, Kind, Window


def cut_execution(window: Window, untimed_hooks: Sequence[str] = ()) -> list[Piece]:
    """Cut the window of an execution into pieces by the rule above.

    untimed_hooks: as for whylate.causes.window.pieces.cut_window(). Returns at least one piece, or
    none of an execution that took no time.
    """
    if window.run_ns <= window.due_ns:
        return []
    rule = _Rule(window)
    switches_ns = frozenset(event.time_ns for event in window.events if event.kind is Kind.SWITCH)
    pieces: list[Piece] = []
    for (cpu, is_on), stays in groupby(follow_thread(window), key=_place):
        cut = [piece for stay in stays for piece in rule.cut(stay)]
        cut = without_hooks(cut, untimed_hooks, switches_ns)
        pieces += rule.with_steal(cut, cpu) if is_on else cut
    return join_adjoining(pieces)


def _place(stay: Stay) -> tuple[int, bool]:
    """Return a stay's CPU, and whether its thread had it or wanted it."""
    return stay.cpu, stay.stage in (Stage.RUNNING, Stage.RUNNABLE)


class _Rule:
    """The table above for one window."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._events: dict[int, list[Event]] = {window.cpu: []}
        for event in window.events:
            self._events.setdefault(event.cpu, []).append(event)
        self._segments = {
            cpu: cut_segments(events, cpu, window.due_ns, window.run_ns)
            for cpu, events in self._events.items()
        }
        # The hypervisor's count is read at switches.
        self._readings = {
            cpu: [event for event in events if event.kind in (Kind.STEAL, Kind.SWITCH)]
            for cpu, events in self._events.items()
        }
        self._given = [
            (event.time_ns, QUOTAS[name])
            for event in window.events
            if event.kind is Kind.TIMER_ENTRY and (name := function_name(event.name)) in QUOTAS
        ]
        self._prio = _own_prio(window)
        self._level = Level.THREAD

    def with_steal(self, pieces: list[Piece], cpu: int) -> list[Piece]:
        """Return the pieces of a stretch on a CPU with what the hypervisor took there."""
        readings = self._readings.get(cpu, [])
        first = bisect_right(readings, pieces[0].start_ns, key=_time) if pieces else 0
        beyond = bisect_right(readings, pieces[-1].end_ns, key=_time) if pieces else 0
        return overlay_steal(pieces, readings[max(first - 1, 0) : beyond + 2])

    def cut(self, stay: Stay) -> Iterator[Piece]:
        """Yield the pieces of a stay."""
        start, end = stay.start_ns, stay.end_ns
        if stay.stage is None:
            yield Piece(start, end, Cause.NOT_OBSERVED)
        elif stay.stage is Stage.STOPPED:
            yield Piece(start, end, Cause.STOPPED, "", stay.stage)
        elif stay.stage is Stage.ASLEEP:
            yield Piece(start, end, *self._asleep(stay), stay.stage)
        else:
            yield from self._on_cpu(stay, stay.stage)

    def _on_cpu(self, stay: Stay, stage: Stage) -> Iterator[Piece]:
        observed = min(max(self._observed_ns(stay.cpu), stay.start_ns), stay.end_ns)
        if observed > stay.start_ns:
            yield Piece(stay.start_ns, observed, Cause.NOT_OBSERVED, "", stage)
        segments = self._segments.get(stay.cpu, [])
        at = bisect_right(segments, observed, key=attrgetter("end_ns"))
        if stay.start_ns == self._window.due_ns and at < len(segments):
            self._level = max(Level.THREAD, segments[at].level)
        while at < len(segments) and segments[at].start_ns < stay.end_ns:
            segment = segments[at]
            start, end = max(segment.start_ns, observed), min(segment.end_ns, stay.end_ns)
            part = replace(segment, start_ns=start, end_ns=end)
            named = self._running(part) if stage is Stage.RUNNING else self._runnable(part, stay)
            yield Piece(start, end, *named, stage)
            at += 1

    def _observed_ns(self, cpu: int) -> int:
        """Return from when on all events of a CPU are there."""
        if cpu == self._window.cpu:
            return self._window.observed_ns
        events = self._events.get(cpu)
        return events[0].time_ns if events else self._window.run_ns

    def _running(self, segment: Segment) -> tuple[Cause, str]:
        """Name what a CPU did that the thread had."""
        if segment.lock:
            return Cause.LOCK, segment.lock
        if segment.level > self._level or segment.hook:
            return _inner(segment)
        if segment.sleeps_for:
            return Cause.LOCK, segment.sleeps_for
        return Cause.OWN, ""

    def _runnable(self, segment: Segment, stay: Stay) -> tuple[Cause, str]:
        """Name what a CPU did that the thread waited for."""
        thread = segment.thread
        if (alike := cause_in_any_stage(segment)) is not None:
            return alike
        if segment.level is Level.SOFTIRQ:
            return _inner(segment)
        if thread is None or thread.pid == self._window.pid:
            return Cause.SCHEDULING, ""
        if not thread.idle and (self._prio >= FAIR or thread.prio <= self._prio):
            return Cause.THREAD, segment.label
        quota = self._quota(stay)
        if quota is not None:
            return quota, f"{thread.name or 'idle'} ran instead"
        if thread.idle:
            return Cause.SCHEDULING, "from idle"
        if segment.end_ns - segment.start_ns <= TO_THE_SCHEDULER_NS:
            return Cause.SCHEDULING, f"from {thread.name}"
        return Cause.UNEXPLAINED, f"in {thread.name}"

    def _quota(self, stay: Stay) -> Cause | None:
        """Return which quota was given anew while it was runnable."""
        given = [quota for at, quota in self._given if stay.start_ns <= at <= stay.end_ns]
        return given[-1] if given else None

    def _asleep(self, stay: Stay) -> tuple[Cause, str]:
        """Name what a thread slept for: a lock, or what woke it."""
        left, waking = stay.left, stay.waking
        before = self._context(stay.cpu, left.time_ns) if left is not None else None
        if before is not None and (lock := before.sleeps_for or before.lock):
            return Cause.LOCK, lock
        woke = self._context(waking.cpu, waking.time_ns) if waking is not None else None
        if woke is None or woke.level is Level.UNKNOWN:
            return Cause.ASLEEP, ""
        return Cause.ASLEEP, f"woken by {woke.label or 'idle'}"

    def _context(self, cpu: int, at_ns: int) -> Segment | None:
        """Return what a CPU did just before that time; None: it was not recorded."""
        segments = self._segments.get(cpu, [])
        at = bisect_left(segments, at_ns, key=attrgetter("end_ns"))
        if at == len(segments) or segments[at].start_ns >= at_ns:
            return None
        return segments[at]


def _time(event: Event) -> int:
    return event.time_ns


def _inner(segment: Segment) -> tuple[Cause, str]:
    """Name a context that is above the thread's."""
    if (alike := cause_in_any_stage(segment)) is not None:
        return alike
    return Cause.SOFTIRQ, segment.label


def _own_prio(window: Window) -> int:
    """Return the thread's priority, as the kernel counts, by its switches; else what was sent."""
    return next(_prios(window.events, window.pid), window.prio)


def _prios(events: Iterable[Event], pid: int) -> Iterator[int]:
    for event in events:
        if event.kind is Kind.SWITCH and event.id == pid:
            yield event.prio
        elif event.kind is Kind.SWITCH and event.prev_id == pid:
            yield event.prev_prio
