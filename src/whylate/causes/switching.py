"""Take the usual cost of switching out of the non-preemptible section before it.

Nothing is recorded between the end of such a section and the switch that follows, so the time of
the scheduler would count as the section's. Its usual length is that of control activations.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace

from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece, Stage


def without_switching(
    late: Iterable[Breakdown], control: Sequence[Breakdown]
) -> tuple[list[Breakdown], list[Breakdown]]:
    """Return late and control activations with what switching takes given to the scheduler."""
    switching_ns = control_switching_ns(control)
    return (
        [less_switching(activation, switching_ns) for activation in late],
        [less_switching(activation, switching_ns) for activation in control],
    )


def control_switching_ns(control: Sequence[Breakdown]) -> int:
    """Return the median over control activations of what the scheduler took; 0 without any."""
    spent = [
        sum(piece.length_ns for piece in activation.pieces if _is_switching(piece))
        for activation in control
        if activation.pieces is not None
    ]
    return round(statistics.median(spent)) if spent else 0


def less_switching(breakdown: Breakdown, switching_ns: int) -> Breakdown:
    """Return the same with the end of the section before its switch given to the scheduler."""
    pieces = list(breakdown.pieces or ())
    last = max((i for i, p in enumerate(pieces) if p.stage is Stage.RUNNABLE), default=-1)
    if last < 0 or pieces[last].cause is not Cause.PREEMPTION_DISABLED or switching_ns <= 0:
        return breakdown
    section = pieces[last]
    middle = max(section.start_ns, section.end_ns - switching_ns)
    way = Piece(middle, section.end_ns, Cause.SCHEDULING, "", Stage.RUNNABLE)
    cut = [replace(section, end_ns=middle)] if middle > section.start_ns else []
    pieces[last : last + 1] = [*cut, way]
    return replace(breakdown, pieces=tuple(pieces))


def _is_switching(piece: Piece) -> bool:
    return piece.cause is Cause.SCHEDULING and piece.stage is Stage.RUNNABLE
