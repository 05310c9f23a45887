"""Where the thread of an execution was between its beginning and its end, and in which state.

An execution begins and ends in its thread, so it runs at both. In between the switches, wakings and
migrations of that thread say it, on whichever CPU they were recorded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from whylate.causes.window.piece import Stage
from whylate.recording.events import Event, Kind, Window

#: Letters of a thread's state: preempted; stopped by a signal, traced.
_STILL_RUNNABLE = "R"
_STOPPED = frozenset("Tt")


@dataclass(frozen=True, slots=True)
class Stay:
    """A stretch [start_ns, end_ns) on one CPU, in one state; stage None: nobody knows.

    waking: of a thread that slept, what ended that. left: the switch by which it lost the CPU.
    """

    start_ns: int
    end_ns: int
    cpu: int
    stage: Stage | None
    waking: Event | None = None
    left: Event | None = None


@dataclass(frozen=True, slots=True)
class _Turn:
    """A time off the CPU: the switch away and the switch back, None where it was not recorded.

    before, meanwhile: the thread's wakings while it ran before, its other events while it was away.
    """

    left: Event | None
    switched: Event | None
    before: Sequence[Event]
    meanwhile: Sequence[Event]


def follow_thread(window: Window) -> list[Stay]:
    """Return where the thread of an execution was: adjoining, in order, from due to run."""
    own = [event for event in window.events if _is_of(event, window)]
    first = next((event for event in own if event.kind is Kind.SWITCH), None)
    at, cpu = window.due_ns, first.cpu if first is not None else window.cpu
    stays: list[Stay] = []
    for turn in _turns(own, window.pid):
        left, switched = turn.left, turn.switched
        if left is not None:
            stays.append(Stay(at, left.time_ns, left.cpu, _running(left.cpu == cpu)))
            at = left.time_ns
        if left is not None and switched is not None:
            stays += _away(left, switched, turn)
        elif left is not None:
            # How it came back was lost: some kernels do not trace their idle threads. Until when it
            # slept may be known.
            if (asleep := _asleep(left, turn)) is not None:
                stays.append(asleep)
                at = asleep.end_ns
        elif switched is not None:
            # How it came off the CPU was lost.
            stays.append(Stay(at, switched.time_ns, switched.cpu, None))
        if switched is not None:
            at, cpu = switched.time_ns, switched.cpu
        else:
            cpu = -1
    # It ended on that CPU: else how it came there was lost.
    stays.append(Stay(at, window.run_ns, window.cpu, _running(cpu == window.cpu)))
    return [stay for stay in stays if stay.start_ns < stay.end_ns]


def _running(known: bool) -> Stage | None:
    return Stage.RUNNING if known else None


def _is_of(event: Event, window: Window) -> bool:
    """Whether an event during the execution says where its thread is."""
    if not window.due_ns < event.time_ns <= window.run_ns:
        return False
    if event.kind is Kind.SWITCH:
        return window.pid in (event.id, event.prev_id)
    return event.kind in (Kind.WAKING, Kind.MIGRATE) and event.id == window.pid


def _turns(own: Iterable[Event], pid: int) -> Iterator[_Turn]:
    """Yield each time off the CPU."""
    left: Event | None = None
    before: list[Event] = []
    meanwhile: list[Event] = []
    for event in own:
        if event.kind is not Kind.SWITCH:
            meanwhile.append(event)
        elif event.prev_id == pid:
            if left is not None:
                yield _Turn(left, None, before, meanwhile)
                meanwhile = []
            left, before, meanwhile = event, meanwhile, []
        else:
            yield _Turn(left, event, before, meanwhile)
            left, before, meanwhile = None, [], []
    if left is not None:
        yield _Turn(left, None, before, meanwhile)


def _away(left: Event, switched: Event, turn: _Turn) -> Iterator[Stay]:
    """Yield the stays between the switch away and the switch back."""
    at, end_ns = left.time_ns, switched.time_ns
    if left.prev_state != _STILL_RUNNABLE:
        asleep = _asleep(left, turn)
        if asleep is None:
            # It slept, and nobody knows until when.
            yield Stay(at, end_ns, left.cpu, None, left=left)
            return
        yield asleep
        at = asleep.end_ns
    cpu = left.cpu
    for event in turn.meanwhile:
        if event.kind is Kind.MIGRATE and event.time_ns >= at:
            yield Stay(at, event.time_ns, cpu, Stage.RUNNABLE, left=left)
            at, cpu = event.time_ns, event.target_cpu
    yield Stay(at, end_ns, switched.cpu, Stage.RUNNABLE, left=left)


def _asleep(left: Event, turn: _Turn) -> Stay | None:
    """Return the stay in which a thread slept; None: it did not, or what ended it is not known."""
    if left.prev_state == _STILL_RUNNABLE or (waking := _waking(left, turn)) is None:
        return None
    stage = Stage.STOPPED if left.prev_state in _STOPPED else Stage.ASLEEP
    return Stay(left.time_ns, waking.time_ns, left.cpu, stage, waking, left)


def _waking(left: Event, turn: _Turn) -> Event | None:
    """Return what woke a thread that went to sleep.

    It may be woken on its way to sleep, before the switch away: only where nothing woke it later.
    """
    later = (event for event in turn.meanwhile if event.kind is Kind.WAKING)
    if (waking := next(later, None)) is not None:
        return waking
    before = [event for event in turn.before if event.kind is Kind.WAKING]
    return replace(before[-1], time_ns=left.time_ns) if before else None
