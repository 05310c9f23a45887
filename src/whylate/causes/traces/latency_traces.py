"""The account of a latency tracer's episode: irqsoff, preemptoff, preemptirqsoff, wakeup*.

irqsoff, preemptoff and preemptirqsoff measure the section itself: the episode is that section,
named by where it began and ended; interrupts that came in it are taken out. The wakeup tracers
measure from the waking to the switch: between two lines the kernel was where the first line has it,
in the context that its flags show.
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
)
from whylate.causes.window.timeline import join_adjoining
from whylate.recording.events import Window
from whylate.recording.traces.latency import LatencyTrace, Step

_SECTIONS = ("irqsoff", "preemptoff", "preemptirqsoff")
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
    slowest = sorted(breakdown, key=lambda episode: -episode.latency_ns)[:worst]
    span = 0, max(episode.latency_ns for episode in breakdown)
    explained = explain_episodes(0, "as the tracer measured", breakdown, [], span)
    return replace(
        explained, worst=[TracedActivation(episode, _window(episode)) for episode in slowest]
    )


def cut_latency_trace(trace: LatencyTrace) -> list[Piece]:
    """Cut an episode into pieces; they sum to its latency."""
    steps = [step for step in trace.steps if step.cpu == trace.cpu]
    pieces: list[Piece] = []
    at = 0
    for step, after in zip(steps, [*steps[1:], None], strict=True):
        start = min(max(step.time_ns, at), trace.latency_ns)
        end = trace.latency_ns if after is None else min(after.time_ns, trace.latency_ns)
        if start > at:
            pieces.append(_first(trace, at, start))
            at = start
        if end > at:
            cause, detail = _cause_of(trace, step, after)
            pieces.append(Piece(at, end, cause, detail, _stage(trace)))
            at = end
    if at < trace.latency_ns:
        pieces.append(_first(trace, at, trace.latency_ns))
    return join_adjoining(pieces)


def _first(trace: LatencyTrace, start: int, end: int) -> Piece:
    """Return what stands before the first line that was kept: the section, or not observed."""
    if trace.tracer in _SECTIONS and not trace.left_out:
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
    function = innermost_function(trace.stack, OF_THE_SCHEDULER | OF_UNLOCKING | _OF_TRACING)
    return Cause.PREEMPTION_DISABLED, f"{function} in {step.task}"


def _context(step: Step) -> str:
    """Return what the flags say of where the CPU was."""
    # Behind interrupts disabled and reschedule (and its lazy brother) comes the context.
    flags = set(step.flags[1:4])
    if flags & _HARD:
        return "interrupt"
    return "softirq" if flags & _SOFT else f"thread {step.pid}"


#: Functions of the tracer, on its own stacks.
_OF_TRACING = frozenset({"__ftrace_trace_stack", "probe_wakeup_sched_switch"})


def _section(trace: LatencyTrace, flags: str) -> tuple[Cause, str]:
    same = trace.started == trace.ended or not trace.ended
    name = trace.started if same else f"{trace.started} to {trace.ended}"
    off = trace.tracer == "irqsoff" or (trace.tracer == "preemptirqsoff" and flags[:1] in _OFF)
    return (
        Cause.INTERRUPTS_DISABLED if off else Cause.PREEMPTION_DISABLED
    ), f"{name} in {trace.task}"


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
