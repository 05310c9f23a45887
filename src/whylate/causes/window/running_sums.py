"""What was before the first event that the ring still had: a stall that outlasted it.

The recorder adds up, as long as it runs, how long the CPU was in interrupts, in softirqs, in NMIs,
idle and in threads. A window has what was added since the measured thread got the CPU the time
before. Of that, some was before the activation was due, and some is in the events; what is more
than both was surely in between: so much at least is named. Which interrupts they were, and which
threads, the sums do not tell: what threads took stays not observed.
"""

from __future__ import annotations

from collections.abc import Iterable

from whylate.causes.window.piece import Cause, Piece
from whylate.causes.window.timeline import Level, Segment
from whylate.recording.events import Window

BY_SUMS = "by the running sums"
_LEVELS = ((Level.INTERRUPT, Cause.INTERRUPT), (Level.SOFTIRQ, Cause.SOFTIRQ),
           (Level.NMI, Cause.NMI))  # fmt: skip


def locate_lost_time(window: Window, seen: Iterable[Segment]) -> list[Piece]:
    """Return the pieces from due until the recording begins; they fill that.

    seen: who had the CPU from there on. Where in between the named ones lay is not known.
    """
    end = min(max(window.observed_ns, window.due_ns), window.run_ns)
    left = end - window.due_ns
    if left <= 0:
        return []
    pieces = []
    for cause, least_ns in _surely(window, seen):
        length = min(least_ns, left)
        if length > 0:
            pieces.append(Piece(end - length, end, cause, BY_SUMS))
            end -= length
            left -= length
    if left:
        pieces.append(Piece(window.due_ns, end, Cause.NOT_OBSERVED))
    return pieces[::-1]


def _surely(window: Window, seen: Iterable[Segment]) -> list[tuple[Cause, int]]:
    """Return how long each was in before the recording begins, at the least."""
    if not any(window.sums) or window.switched_ns is None:
        return []
    in_events = dict.fromkeys(Level, 0)
    for run in seen:
        length = min(run.end_ns, window.switched_ns) - run.start_ns
        in_events[run.level] += max(length, 0)
    # All but steal, which is part of the others: where the CPU was while the thread had it not.
    before_due = max(0, sum(window.sums[:5]) - (window.switched_ns - window.due_ns))
    return [
        (cause, spent - in_events[level] - before_due)
        for (level, cause), spent in zip(_LEVELS, window.sums[:3], strict=True)
    ]
