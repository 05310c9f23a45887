"""Breakdown of an activation in the trace of another tool."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from whylate.causes.window.piece import Cause, Piece, Stage
from whylate.causes.window.pieces import cause_in_any_stage, cut_window
from whylate.causes.window.timeline import Level, Segment, cut_segments
from whylate.recording.activation import FAIR, Activation, Waker
from whylate.recording.events import Window
from whylate.recording.traces.cutout import CutOut
from whylate.recording.traces.noise import LOWEST_PRIO, OSNOISE
from whylate.recording.traces.seen import Seen

#: Causes of time without other evidence: valid only if all events were recorded.
_NOTHING_ELSE = frozenset({Cause.SCHEDULING, Cause.RETURN, Cause.IDLE_EXIT})


def cut_activation(activation: Activation, cutout: CutOut) -> tuple[Piece, ...]:
    """Cut an activation into pieces, CPU by CPU: each by what happened on the one it was up to."""
    pieces: list[Piece] = []
    for window in cutout.parts:
        by_softirq = activation.woken.by is Waker.SOFTIRQ
        if by_softirq and activation.waking_ns is not None and window.due_ns < activation.waking_ns:
            until = min(activation.waking_ns, window.run_ns)
            pieces += _until_the_softirq(replace(window, run_ns=until))
            window = replace(window, due_ns=until)  # noqa: PLW2901
        if window.prio >= FAIR:
            # Between SCHED_OTHER threads the scheduler does not choose by priority.
            window = replace(window, prio=LOWEST_PRIO)  # noqa: PLW2901
        pieces += cut_window(window)
    if activation.woken.name == OSNOISE:
        # Its thread was running all the time, and something kept it from seeing the clock.
        pieces = [
            replace(piece, cause=Cause.UNEXPLAINED, detail="")
            if piece.cause in _NOTHING_ELSE
            else piece
            for piece in pieces
        ]
    return tuple(pieces)


def _until_the_softirq(window: Window) -> list[Piece]:
    """Name what ran from the raise of a softirq to the waking in it.

    It waits for no thread's priority: whoever had the CPU meanwhile is named, the softirq itself
    as such.
    """
    observed = min(max(window.observed_ns, window.due_ns), window.run_ns)
    before = [Piece(window.due_ns, observed, Cause.NOT_OBSERVED)]
    return [piece for piece in before if piece.length_ns] + [
        Piece(segment.start_ns, segment.end_ns, *_cause_of(segment), Stage.WAKING)
        for segment in cut_segments(window.events, window.cpu, observed, window.run_ns)
    ]


def _cause_of(segment: Segment) -> tuple[Cause, str]:
    if (alike := cause_in_any_stage(segment)) is not None:
        return alike
    if segment.level is Level.SOFTIRQ:
        return Cause.SOFTIRQ, segment.label
    if segment.thread is None or segment.thread.idle:
        return Cause.UNEXPLAINED, "while idle"
    return Cause.THREAD, segment.thread.name


def rename_by_evidence(seen: Seen) -> Callable[[Piece], Piece]:
    """Return what pieces are called, by what the whole trace turned out to have.

    That nothing else was seen in a stretch is evidence only where interrupts and softirqs would
    have been: elsewhere such a stretch is unexplained.
    """
    lacks = {"interrupts": lacks_interrupts(seen), "softirqs": lacks_softirqs(seen)}
    missing = [what for what, lacking in lacks.items() if lacking]
    if not missing:
        return lambda piece: piece
    why = f"{' and '.join(missing)} were not recorded"

    def renamed(piece: Piece) -> Piece:
        if piece.cause not in _NOTHING_ELSE:
            return piece
        return replace(piece, cause=Cause.UNEXPLAINED, detail=why)

    return renamed


def lacks_interrupts(seen: Seen) -> bool:
    """Return whether interrupts were not recorded, or not that of the timer."""
    noise = seen.any_of("irq_noise")
    if not noise and not any(
        name.endswith(("irq_handler_entry", "ipi_entry", "_timer_entry")) for name in seen.events
    ):
        return True
    return seen.bare_timers > seen.events["hrtimer_expire_entry"] // 10


def lacks_softirqs(seen: Seen) -> bool:
    """Return whether softirqs were not recorded."""
    # The tracers of noise tell of softirqs where they tell of anything; with PREEMPT_RT few are.
    noise = ("softirq_noise", "irq_noise", "thread_noise")
    return not seen.any_of("softirq_entry", "softirq_raise", *noise)
