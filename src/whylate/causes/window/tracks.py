"""Tracks of a CPU for display: its threads, and beside them softirqs, interrupts and lock waits.

The segments of whylate.causes.window.timeline have the innermost context only. In the tracks an
interrupted thread continues, since it has the CPU again after the interrupt.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from whylate.causes.window.timeline import Level, Segment, cut_segments, join_adjoining
from whylate.recording.events import Window


class Track(StrEnum):
    """The tracks of a CPU, in the order in which they are shown."""

    THREADS = "threads"
    SOFTIRQS = "softirqs"
    INTERRUPTS = "interrupts"
    LOCKS = "locks"


class SpanKind(StrEnum):
    """What a span is, for its colour."""

    MEASURED = "measured"
    THREAD = "thread"
    IDLE = "idle"
    SOFTIRQ = "softirq"
    INTERRUPT = "interrupt"
    NMI = "nmi"
    LOCK = "lock"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch [start_ns, end_ns) of a track. name: as the board has it; not made harmless."""

    start_ns: int
    end_ns: int
    track: Track
    what: SpanKind
    name: str
    #: Tells two threads of one name, or two turns of one thread, apart.
    turn: int = 0

    @property
    def length_ns(self) -> int:
        """Its length."""
        return self.end_ns - self.start_ns


def cpus_of(window: Window) -> list[int]:
    """Return the CPUs that a window has events of: its own first, then in order."""
    others = sorted({event.cpu for event in window.events} - {window.cpu})
    return [window.cpu, *others]


def began_ns(window: Window, cpu: int) -> int:
    """Return from when on events of a CPU are in a window, at the latest when it was due."""
    first = min((event.time_ns for event in window.events if event.cpu == cpu),
                default=window.due_ns)  # fmt: skip
    return min(first, window.due_ns)


def cut_spans(window: Window, cpu: int, start_ns: int, end_ns: int) -> list[Span]:
    """Return what was in the tracks of a CPU in [start_ns, end_ns), in order of time.

    Spans of one track do not overlap. What was not recorded is What.UNKNOWN in the threads' track.
    """
    parts = cut_segments(window.events, cpu, start_ns, end_ns)
    if cpu == window.cpu:
        parts = [part for segment in parts for part in _observed(segment, window)]
    every = [span for segment in parts for span in (_thread(segment, window), *_inner(segment))]
    joined = [
        span
        for track in Track
        for span in join_adjoining(span for span in every if span.track is track)
    ]
    return sorted(joined, key=lambda span: (span.start_ns, span.end_ns))


def _observed(segment: Segment, window: Window) -> Iterable[Segment]:
    """Cut a segment where events begin to be complete: before that, nobody knows."""
    observed = window.observed_ns
    if observed <= window.due_ns or segment.start_ns >= observed:
        yield segment
        return
    cut = min(segment.end_ns, observed)
    yield Segment(segment.start_ns, cut, Level.UNKNOWN)
    if cut < segment.end_ns:
        yield replace(segment, start_ns=cut)


def _thread(segment: Segment, window: Window) -> Span:
    thread = segment.thread
    what, name, turn = SpanKind.UNKNOWN, "not recorded", 0
    if thread is not None and thread.idle:
        what, name, turn = SpanKind.IDLE, "idle", segment.chosen_ns
    elif thread is not None:
        own = thread.pid == window.pid
        what, name, turn = (
            SpanKind.MEASURED if own else SpanKind.THREAD,
            thread.name or f"pid {thread.pid}",
            segment.chosen_ns,
        )
    return Span(segment.start_ns, segment.end_ns, Track.THREADS, what, name, turn)


_ON_TOP = {
    Level.SOFTIRQ: (Track.SOFTIRQS, SpanKind.SOFTIRQ),
    Level.INTERRUPT: (Track.INTERRUPTS, SpanKind.INTERRUPT),
    Level.NMI: (Track.INTERRUPTS, SpanKind.NMI),
}


def _inner(segment: Segment) -> Iterable[Span]:
    """Return what ran on top of the thread, and what was spun for."""
    if segment.level in _ON_TOP:
        name = segment.label if segment.level is not Level.NMI else f"NMI {segment.label}".strip()
        yield Span(segment.start_ns, segment.end_ns, *_ON_TOP[segment.level], name)
    if lock := segment.lock or segment.sleeps_for:
        yield Span(segment.start_ns, segment.end_ns, Track.LOCKS, SpanKind.LOCK, lock)
