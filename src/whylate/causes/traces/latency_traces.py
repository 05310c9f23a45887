"""The account of a latency tracer's episode: irqsoff, preemptoff, preemptirqsoff, wakeup*.

irqsoff, preemptoff and preemptirqsoff measure the section itself: the episode is that section,
named by where it began and ended; interrupts that came in it are taken out. The wakeup tracers
measure from the waking to the switch: between two lines the kernel was where the first line has it,
in the context that its flags show. Where lines are missing nothing was observed: at the marks of
who shortened the text, after the last line of one that was cut, and throughout one that has fewer
lines than its header counts and does not show where.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whylate.causes.answer import Answer, TracedActivation, explain_episodes
from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece, Stage
from whylate.causes.window.stacks import (
    OF_THE_SCHEDULER,
    OF_UNLOCKING,
    PREEMPTED_AT_ONCE,
    function_name,
    innermost_function,
    is_of_tracing,
)
from whylate.causes.window.timeline import join_adjoining
from whylate.recording.events import Window
from whylate.recording.traces.latency import LatencyTrace, Step

_SECTIONS = ("irqsoff", "preemptoff", "preemptirqsoff")
#: The last line of a trace that was not cut is so close to its end: the tracer's own way there.
_END_NS = 5_000
#: Of the flags: interrupts disabled (with and without softirqs), and the context, by letter.
_OFF = ("d", "D")
_HARD = frozenset("hHzZ")
_SOFT = frozenset("s")


def explain_latency_traces(traces: Sequence[LatencyTrace], worst: int) -> Answer:
    """Return the answer for the episodes of a file; there is no body to compare them with."""
    if not traces:
        return Answer(0, "as the tracer measured", None, [], "no latency was measured in it")
    breakdown = [
        Breakdown(trace.cpu, number, 0, trace.latency_ns, tuple(cut_latency_trace(trace)))
        for number, trace in enumerate(traces)
    ]
    return explain_without_windows("as the tracer measured", breakdown, worst)


def explain_without_windows(name: str, breakdown: Sequence[Breakdown], worst: int) -> Answer:
    """Return the answer for episodes of which there are no events; name: of their threshold."""
    slowest = sorted(breakdown, key=lambda episode: -episode.latency_ns)[:worst]
    span = 0, max(episode.latency_ns for episode in breakdown)
    explained = explain_episodes(0, name, breakdown, [], span)
    return replace(
        explained, worst=[TracedActivation(episode, _window(episode)) for episode in slowest]
    )


def cut_latency_trace(trace: LatencyTrace) -> list[Piece]:
    """Cut an episode into pieces; they sum to its latency."""
    steps = [step for step in trace.steps if step.cpu == trace.cpu]
    anywhere = _elided_anywhere(trace, steps)
    pieces: list[Piece] = []
    at = 0
    following: list[Step | None] = [*steps[1:], None]
    for step, after in zip(steps, following[: len(steps)], strict=True):
        start = min(max(step.time_ns, at), trace.latency_ns)
        end = trace.latency_ns if after is None else min(after.time_ns, trace.latency_ns)
        if start > at:
            pieces.append(_first(trace, at, start))
            at = start
        if end > at:
            elided = anywhere or step.elided or (after is None and trace.missing > 0)
            cause, detail = (Cause.NOT_OBSERVED, "") if elided else _cause_of(trace, step, after)
            pieces.append(Piece(at, end, cause, detail, _stage(trace)))
            at = end
    if at < trace.latency_ns:
        pieces.append(_first(trace, at, trace.latency_ns))
    return join_adjoining(pieces)


def _elided_anywhere(trace: LatencyTrace, steps: Sequence[Step]) -> bool:
    """Whether lines are missing at a place that nothing shows.

    A text that ends early was cut there: what is before is whole.
    """
    if not steps or not trace.missing or trace.marks_elided:
        return False
    return trace.latency_ns - steps[-1].time_ns <= _END_NS


def _first(trace: LatencyTrace, start: int, end: int) -> Piece:
    """Return what stands before the first line that was kept: the section, or not observed.

    Of a header alone it is the section where that is of disabled interrupts: none can have come.
    """
    whole = not trace.left_out and not trace.begins_elided
    if trace.steps:
        whole = whole and not (trace.missing and not trace.marks_elided)
    elif trace.tracer != "irqsoff":
        whole = whole and not trace.missing
    if trace.tracer in _SECTIONS and whole:
        return Piece(start, end, *_section(trace, ""), _stage(trace))
    return Piece(start, end, Cause.NOT_OBSERVED)


def _cause_of(trace: LatencyTrace, step: Step, after: Step | None) -> tuple[Cause, str]:
    """Name the time from one line to the next."""
    if trace.tracer == "irqsoff":
        return _section(trace, step.flags)
    context = _context(step)
    if after is not None and _context(after) != context and trace.tracer not in _SECTIONS:
        # Something began or ended in between, at an unknown time.
        return Cause.UNEXPLAINED, "between two lines"
    if context == "interrupt":
        return Cause.INTERRUPT, ""
    if trace.tracer in _SECTIONS:
        return _section(trace, step.flags)
    if context == "softirq":
        return Cause.SOFTIRQ, ""
    if step.pid in (0, trace.pid):
        return Cause.SCHEDULING, "from idle" if step.pid == 0 else ""
    if step.pid == trace.switched_from and trace.prio_before <= trace.prio:
        return Cause.THREAD, step.task
    names = {function_name(symbol) for symbol in trace.stack}
    if not names or names & PREEMPTED_AT_ONCE:
        return Cause.UNEXPLAINED, f"in {step.task}"
    function = innermost_function(trace.stack, OF_THE_SCHEDULER | OF_UNLOCKING)
    return Cause.PREEMPTION_DISABLED, f"{function} in {step.task}"


def _context(step: Step) -> str:
    """Return what the flags say of where the CPU was."""
    # Behind interrupts disabled and reschedule (and its lazy brother) comes the context.
    flags = set(step.flags[1:4])
    if flags & _HARD:
        return "interrupt"
    return "softirq" if flags & _SOFT else f"thread {step.pid}"


def _section(trace: LatencyTrace, flags: str) -> tuple[Cause, str]:
    off = trace.tracer == "irqsoff" or (trace.tracer == "preemptirqsoff" and flags[:1] in _OFF)
    cause = Cause.INTERRUPTS_DISABLED if off else Cause.PREEMPTION_DISABLED
    names = list(dict.fromkeys(name for name in _edges(trace) if name))
    place = " to ".join(names)
    return cause, f"{place} in {trace.task}" if place else f"in {trace.task}"


def _edges(trace: LatencyTrace) -> tuple[str, str]:
    """Return where a section began and where it ended; "": only the tracer stands there."""
    first = trace.steps[0] if trace.steps and not trace.begins_elided else None
    last = trace.steps[-1] if trace.steps and not trace.steps[-1].elided else None
    return _place(trace.started, first), _place(trace.ended, last)


def _place(name: str, step: Step | None) -> str:
    """Return a function that is not the tracer's: that of the header, or who called it."""
    candidates = (name, step.caller if step is not None and step.what.startswith(name) else "")
    return next((place for place in candidates if place and not is_of_tracing(place)), "")


def _stage(trace: LatencyTrace) -> Stage:
    return Stage.PENDING if trace.tracer in _SECTIONS else Stage.RUNNABLE


def _window(breakdown: Breakdown) -> Window:
    """Return the episode as a window without events."""
    return Window(
        cpu=breakdown.cpu, activation=breakdown.activation, pid=0, prio=0, due_ns=0,
        run_ns=breakdown.latency_ns, reason="tail", timer_ns=None, waking_ns=None,
        switched_ns=None, waking_cpu=None,
        observed_ns=0, events=(),
    )  # fmt: skip
