"""The measured thread's own stages between due and run: pending, woken, runnable, stopped, ...

The recorder gives three times of the first way to the CPU: the interrupt, the waking, the switch.
A thread may lose the CPU again before its own code runs: preempted, stopped by a signal, or
blocked in the kernel. Its later switches and wakings say when.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from whylate.causes.window.piece import Stage
from whylate.recording.events import Event, Kind, Window

#: Letters of a thread's state: preempted or woken before it slept; stopped by a signal, traced.
STILL_RUNNABLE = "R"
_STOPPED = frozenset("Tt")
_BLOCKED = frozenset("D")


@dataclass(frozen=True, slots=True)
class StageSpan:
    """A stretch [start_ns, end_ns) in one stage."""

    start_ns: int
    end_ns: int
    stage: Stage


def own_stages(window: Window, own: Sequence[Event]) -> list[StageSpan]:
    """Return the stages of a window: adjoining, in order, from due to run.

    own: the events of its CPU, in order of time.
    """
    spans: list[StageSpan] = []
    at = window.due_ns
    for until, stage in _edges(window, own):
        end = min(until, window.run_ns)
        if end > at:
            spans.append(StageSpan(at, end, stage))
            at = end
    return spans


def stages_within(
    spans: Iterable[StageSpan], start_ns: int, end_ns: int
) -> Iterator[tuple[int, int, Stage]]:
    """Yield the parts of [start_ns, end_ns) with their stages."""
    for span in spans:
        start, end = max(span.start_ns, start_ns), min(span.end_ns, end_ns)
        if start < end:
            yield start, end, span.stage


def left_state(window: Window, own: Sequence[Event]) -> str:
    """Return why the thread was off the CPU when it was woken: a state's letter, "" not known.

    The waking itself says it, which may be among another CPU's events; or its last switch.
    """
    until = window.waking_ns if window.waking_ns is not None else window.switched_ns
    if until is None:
        return ""
    woken = [
        event.prev_state
        for event in window.events
        if event.kind is Kind.WAKING and event.id == window.pid and event.time_ns == until
    ]
    left = [
        event.prev_state
        for event in own
        if event.kind is Kind.SWITCH and event.prev_id == window.pid and event.time_ns < until
    ]
    return next((state for state in (*woken, *left[-1:]) if state), "")


def _edges(window: Window, own: Sequence[Event]) -> Iterator[tuple[int, Stage]]:
    """Yield until when each stage lasts."""
    running = window.switched_ns if window.switched_ns is not None else window.run_ns
    runnable = window.waking_ns if window.waking_ns is not None else running
    waking = window.timer_ns if window.timer_ns is not None else runnable
    left = left_state(window, own)
    if left in _STOPPED:
        # Whatever came due meanwhile, only the signal that continues it wakes it.
        yield runnable, Stage.STOPPED
    elif left in _BLOCKED and not _woken_by_timer(window, waking, runnable):
        # Until what it waited for came; a driver's own delays sleep in that state, too.
        yield waking, Stage.BLOCKED
    elif left == STILL_RUNNABLE and window.waking_ns is None and window.switched_ns is not None:
        # It lost the CPU before it could sleep, and came due meanwhile.
        yield running, Stage.RUNNABLE
    yield waking, Stage.PENDING
    yield runnable, Stage.WAKING
    yield from _runnable(window, own, runnable, running)
    if window.switched_ns is not None:
        yield from _after(window, own, window.switched_ns)
    yield window.run_ns, Stage.RUNNING


def _woken_by_timer(window: Window, waking_ns: int, runnable_ns: int) -> bool:
    """Whether a timer's function ran in the interrupt or softirq that woke it."""
    return any(
        event.kind in (Kind.TIMER_ENTRY, Kind.DEFERRED_ENTRY)
        and waking_ns <= event.time_ns <= runnable_ns
        for event in window.events
    )


def _runnable(
    window: Window, own: Sequence[Event], runnable_ns: int, running_ns: int
) -> Iterator[tuple[int, Stage]]:
    """Yield the stages while it was runnable: here, or moved to another CPU and not back yet."""
    stage = Stage.RUNNABLE
    for event in own:
        moved = event.kind is Kind.MIGRATE and event.id == window.pid
        if moved and runnable_ns <= event.time_ns <= running_ns:
            yield event.time_ns, stage
            stage = Stage.RUNNABLE if event.target_cpu == window.cpu else Stage.MIGRATED
    yield running_ns, stage


def _after(window: Window, own: Sequence[Event], switched_ns: int) -> Iterator[tuple[int, Stage]]:
    """Yield the stages from its first switch to the CPU on."""
    stage = Stage.RUNNING
    for event in own:
        if not switched_ns < event.time_ns <= window.run_ns:
            continue
        if event.kind is Kind.SWITCH and event.prev_id == window.pid and stage is Stage.RUNNING:
            following = _stage_of(event.prev_state)
        elif event.kind is Kind.SWITCH and event.id == window.pid:
            following = Stage.RUNNING
        elif event.kind is Kind.WAKING and event.id == window.pid and stage is not Stage.RUNNING:
            following = Stage.RUNNABLE
        else:
            continue
        # It had the CPU on its way into the stop alone: none of its own code ran.
        yield event.time_ns, Stage.STOPPED if following is Stage.STOPPED else stage
        stage = following
    yield window.run_ns, stage


def _stage_of(state: str) -> Stage:
    if state in _STOPPED:
        return Stage.STOPPED
    return Stage.RUNNABLE if state == STILL_RUNNABLE else Stage.BLOCKED
