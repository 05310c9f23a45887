"""What switching takes in any case is no part of the section that it had to wait for.

Nothing is recorded between the end of a non-preemptible section and the switch that follows: the
scheduler's own way there would be counted as the section's. How long that way is, ordinary
activations tell.
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
    """Return late and ordinary activations with what switching takes given to the scheduler."""
    switching_ns = control_switching_ns(control)
    return (
        [less_switching(activation, switching_ns) for activation in late],
        [less_switching(activation, switching_ns) for activation in control],
    )


def control_switching_ns(control: Sequence[Breakdown]) -> int:
    """Return the median over ordinary activations of what the scheduler took; 0 without any."""
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
