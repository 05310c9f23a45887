"""What is set right before the time of activations is counted: overlaps, and the cost of switching.

Late activations of one CPU whose windows overlap are one episode: its time is counted once.

Activations of the wakeup workload that come due during another's stall are overruns, and belong
to it already. Threads of a program wake as they do: a stall that holds up three of them is one
episode, from when the first was due until the last one ran.

Nothing is recorded between the end of a non-preemptible section and the switch that follows, so the
time of the scheduler would count as the section's. Its usual length is that of control activations.
And no event says what a thread's own way to the CPU and to its code consists of: beyond twice what
99 of 100 control activations take it is unexplained.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece, Stage
from whylate.causes.window.pieces import TO_THE_SCHEDULER_NS

#: What every activation needs, and what it is called where it takes much longer than that.
OWN_WAY = {
    "scheduling": "on its way to the CPU",
    "return": "on its way back to its code",
    "timer": "in its timer's interrupt",
}


def merge_episodes(late: Iterable[Breakdown]) -> list[Breakdown]:
    """Return one for each episode, in order for each CPU.

    Time in which several waited is taken from the activation that was due first; what was not
    recorded of an episode is not observed. An episode has the number of its recorded activation
    with the longest latency.
    """
    return [_joined(together) for together in group_overlapping(late)]


def group_overlapping(late: Iterable[Breakdown]) -> list[list[Breakdown]]:
    """Return what belongs together, each in the order in which it was due."""
    by_cpu: dict[int, list[Breakdown]] = defaultdict(list)
    for activation in late:
        by_cpu[activation.cpu].append(activation)
    groups: list[list[Breakdown]] = []
    for own in by_cpu.values():
        together: list[Breakdown] = []
        end_ns = 0
        for activation in sorted(
            own, key=lambda activation: (activation.due_ns, -activation.latency_ns)
        ):
            if together and activation.due_ns >= end_ns:
                groups.append(together)
                together = []
            together.append(activation)
            run_ns = activation.due_ns + activation.latency_ns
            end_ns = max(end_ns, run_ns) if len(together) > 1 else run_ns
        groups.append(together)
    return groups


def _joined(together: Sequence[Breakdown]) -> Breakdown:
    """Return activations that overlap, in the order in which they were due, as one."""
    if len(together) == 1:
        return together[0]
    pieces: list[Piece] = []
    start_ns = at = together[0].due_ns
    for activation in together:
        run_ns = activation.due_ns + activation.latency_ns
        own = activation.pieces or (Piece(activation.due_ns, run_ns, Cause.NOT_OBSERVED),)
        pieces += [replace(p, start_ns=max(p.start_ns, at)) for p in own if p.end_ns > at]
        at = max(at, run_ns)
    recorded = any(activation.pieces is not None for activation in together)
    latest = max(
        (late for late in together if late.pieces is not None or not recorded),
        key=lambda late: late.latency_ns,
    )
    return Breakdown(
        latest.cpu, latest.activation, start_ns, at - start_ns, tuple(pieces) if recorded else None
    )


@dataclass(frozen=True)
class Usual:
    """What control activations usually take.

    switching_ns: of the scheduler's own work, the median. own_way_ns: the most that is a thread's
    own way to the CPU and back to its code; what is longer has no evidence.
    """

    switching_ns: int
    own_way_ns: Mapping[str, int]


def usual_of(control: Sequence[Breakdown]) -> Usual:
    """Return what is usual in control activations."""
    return Usual(control_switching_ns(control), {way: _own_way_ns(way, control) for way in OWN_WAY})


def corrected(breakdown: Breakdown, usual: Usual) -> Breakdown:
    """Return the same with the usual cost of switching apart, and an own way that is believable."""
    return _bound_own_way(less_switching(breakdown, usual.switching_ns), usual)


def control_switching_ns(control: Sequence[Breakdown]) -> int:
    """Return the median over control activations of what the scheduler took; 0 without any."""
    spent = [
        sum(
            piece.length_ns
            for piece in activation.pieces
            if piece.cause is Cause.SCHEDULING and piece.stage is Stage.RUNNABLE
        )
        for activation in control
        if activation.pieces is not None
    ]
    return round(statistics.median(spent)) if spent else 0


def less_switching(breakdown: Breakdown, switching_ns: int) -> Breakdown:
    """Return the same with the end of the section before its switch given to the scheduler."""
    pieces = list(breakdown.pieces or ())
    # A function at the tracepoint of the switch comes behind the scheduler's choice.
    runnable = [
        i for i, p in enumerate(pieces) if p.stage is Stage.RUNNABLE and p.cause is not Cause.HOOK
    ]
    last = max(runnable, default=-1)
    if last < 0 or pieces[last].cause is not Cause.PREEMPTION_DISABLED or switching_ns <= 0:
        return breakdown
    section = pieces[last]
    middle = max(section.start_ns, section.end_ns - switching_ns)
    way = Piece(middle, section.end_ns, Cause.SCHEDULING, "", Stage.RUNNABLE)
    cut = [replace(section, end_ns=middle)] if middle > section.start_ns else []
    pieces[last : last + 1] = [*cut, way]
    return replace(breakdown, pieces=tuple(pieces))


def _of_own_way(breakdown: Breakdown, way: str) -> list[Piece]:
    """Return the pieces of an activation's own way, which no event says more about.

    Of the interrupt of the timer that woke it, that is the time outside of any timer's function.
    """
    pieces = breakdown.pieces or ()
    if way != "timer":
        return [piece for piece in pieces if piece.cause.value == way]
    woke = {piece.detail for piece in pieces if _is_bare_interrupt(piece)} & {
        piece.detail.partition(": ")[0]
        for piece in pieces
        if piece.stage is Stage.WAKING and ": " in piece.detail
    }
    return [piece for piece in pieces if _is_bare_interrupt(piece) and piece.detail in woke]


def _is_bare_interrupt(piece: Piece) -> bool:
    return piece.cause is Cause.INTERRUPT and ": " not in piece.detail


def _own_way_ns(way: str, control: Sequence[Breakdown]) -> int:
    spent = sorted(
        sum(piece.length_ns for piece in _of_own_way(activation, way))
        for activation in control
        if activation.pieces is not None
    )
    usual = spent[len(spent) * 99 // 100] if spent else 0
    return max(TO_THE_SCHEDULER_NS, 2 * usual)


def _bound_own_way(breakdown: Breakdown, usual: Usual) -> Breakdown:
    """Leave unexplained what a thread's own way took beyond the usual: the longest pieces' ends."""
    if breakdown.pieces is None:
        return breakdown
    pieces = list(breakdown.pieces)
    for way, most_ns in usual.own_way_ns.items():
        own = sorted(_of_own_way(breakdown, way), key=lambda piece: -piece.length_ns)
        over = sum(piece.length_ns for piece in own) - most_ns
        for piece in own:
            if over <= 0:
                break
            length = min(over, piece.length_ns)
            over -= length
            middle = piece.end_ns - length
            at = pieces.index(piece)
            kept = [replace(piece, end_ns=middle)] if middle > piece.start_ns else []
            rest = replace(piece, start_ns=middle, cause=Cause.UNEXPLAINED, detail=OWN_WAY[way])
            pieces[at : at + 1] = [*kept, rest]
    return replace(breakdown, pieces=tuple(pieces))
