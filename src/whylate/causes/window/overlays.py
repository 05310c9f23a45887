"""Time of the recorder and of the hypervisor, which replaces the parts of pieces it overlaps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from whylate.causes.window.piece import Cause, Piece
from whylate.recording.events import Event, Kind

#: Causes that steal is taken from, in this order; within a cause the longest piece first. Other
#: causes come last.
_STEAL_FROM = (
    Cause.OUTSIDE, Cause.UNEXPLAINED, Cause.OWN, Cause.IDLE_EXIT, Cause.SCHEDULING, Cause.RETURN
)  # fmt: skip

#: Start and end of a span, and how much of it was stolen (0 for the recorder's spans).
_Span = tuple[int, int, int]


def overlay_recording(pieces: list[Piece], events: Iterable[Event]) -> list[Piece]:
    """Name the time in which the recorder took a stack."""

    def spans() -> Iterator[_Span]:
        at = 0
        for event in events:
            if event.kind is Kind.STACK and event.duration_ns:
                start, end = max(at, event.time_ns), event.time_ns + event.duration_ns
                if end > start:
                    yield start, end, 0
                    at = end

    return _overlay(pieces, spans(), _recording_in)


def overlay_steal(pieces: list[Piece], events: list[Event]) -> list[Piece]:
    """Name the time that the hypervisor took.

    A steal event has what was stolen since the preceding reading. Of that, what fits into the time
    between that reading and the window may have been stolen there; only the rest is surely inside.
    """
    if not pieces:
        return pieces
    begin, end = pieces[0].start_ns, pieces[-1].end_ns

    def spans() -> Iterator[_Span]:
        previous = events[0].time_ns if events else 0
        for event in events:
            if event.kind is Kind.STEAL:
                outside = max(0, begin - previous) + max(0, event.time_ns - end)
                yield previous, event.time_ns, event.duration_ns - outside
            if event.kind in (Kind.STEAL, Kind.SWITCH):
                previous = event.time_ns

    return _overlay(pieces, spans(), _steal_in)


def _recording_in(pieces: list[Piece], span: _Span) -> list[Piece]:
    return [
        replace(piece, start_ns=max(span[0], piece.start_ns), end_ns=min(span[1], piece.end_ns),
                cause=Cause.RECORDING, detail="its stack")
        for piece in pieces
        if piece.cause is not Cause.NOT_OBSERVED
    ]  # fmt: skip


def _steal_in(pieces: list[Piece], span: _Span) -> list[Piece]:
    """Return the steal of a span, taken from the end of the most likely pieces first."""
    begin, until, left = span
    stolen: list[Piece] = []
    for cause in (*_STEAL_FROM, None):
        for piece in sorted(pieces, key=lambda piece: -piece.length_ns):
            if piece.cause in (Cause.NOT_OBSERVED, Cause.STEAL):
                continue
            if (piece.cause is not cause) if cause else (piece.cause in _STEAL_FROM):
                continue
            start, end = max(piece.start_ns, begin), min(piece.end_ns, until)
            length = min(left, end - start)
            if length > 0:
                left -= length
                stolen.append(replace(piece, start_ns=end - length, end_ns=end,
                                      cause=Cause.STEAL, detail=""))  # fmt: skip
    return stolen


def _overlay(
    pieces: list[Piece],
    spans: Iterable[_Span],
    replacements: Callable[[list[Piece], _Span], list[Piece]],
) -> list[Piece]:
    """Replace parts of the pieces in each span.

    The spans are disjoint and in order, so a board that sends a million of them costs no more than
    a million steps. Each replacement lies within one piece of its span.
    """
    done: list[Piece] = []
    rest = deque(pieces)
    for span in spans:
        while rest and rest[0].end_ns <= span[0]:
            done.append(rest.popleft())
        overlapped = []
        while rest and rest[0].start_ns < span[1]:
            overlapped.append(rest.popleft())
        rest.extendleft(reversed(_replace_parts(overlapped, replacements(overlapped, span))))
    return done + list(rest)


def _replace_parts(pieces: list[Piece], replacements: list[Piece]) -> list[Piece]:
    merged = []
    waiting = deque(sorted(replacements, key=lambda piece: piece.start_ns))
    for piece in pieces:
        at = piece.start_ns
        while waiting and waiting[0].start_ns < piece.end_ns:
            replacement = waiting.popleft()
            if replacement.start_ns > at:
                merged.append(replace(piece, start_ns=at, end_ns=replacement.start_ns))
            merged.append(replacement)
            at = replacement.end_ns
        if at < piece.end_ns:
            merged.append(replace(piece, start_ns=at))
    return merged
