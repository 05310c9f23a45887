"""The window of one activation, cut out of the last records of its CPUs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from whylate.recording.activation import Activation, Leg
from whylate.recording.events import Event, Kind, Reason, Window
from whylate.recording.traces.cpu import Cpu
from whylate.recording.traces.fields import Record, event_of
from whylate.recording.traces.noise import LOWEST_PRIO, switched_back

#: A window has no more events than that: what is before them was not observed.
MOST_EVENTS = 1 << 14


@dataclass(frozen=True)
class CutOut:
    """An activation's window, and its parts: one for each CPU that was to run it, in order."""

    window: Window
    parts: tuple[Window, ...]


def cut_out(
    activation: Activation, cpus: Mapping[int, Cpu], number: int, reason: Reason, *, switches: bool
) -> CutOut:
    """Return what the trace has of an activation.

    switches: the trace has switches of threads; else what precedes an activation shows nothing of
    it. number: by which it is known.
    """
    parts = []
    for leg in activation.legs:
        events, observed = _leg(leg, cpus.get(leg.cpu), switches)
        if not switches:
            events = switched_back(events, activation)
            if activation.interrupted is not None:
                pid, name = activation.interrupted
                events.insert(0, Event(leg.start_ns, leg.cpu, Kind.SWITCH, id=pid, name=name,
                                       prio=LOWEST_PRIO))  # fmt: skip
                events.sort(key=lambda event: event.time_ns)
        activation = _with_stages(activation, events)
        left = _left_at(events, activation)
        kept = [event for event in events if _is_its_own(event, activation, left)]
        parts.append(_window(activation, leg, tuple(kept), observed, number, reason))
    last = parts[-1]
    whole = replace(
        last,
        due_ns=activation.due_ns,
        observed_ns=max(part.observed_ns for part in parts) if len(parts) == 1 else
        next((part.observed_ns for part in reversed(parts)
              if part.observed_ns > part.due_ns), parts[0].observed_ns),
        events=tuple(sorted((event for part in parts for event in part.events),
                            key=lambda event: event.time_ns)),
    )  # fmt: skip
    return CutOut(whole, tuple(parts))


def _leg(leg: Leg, cpu: Cpu | None, switches: bool) -> tuple[list[Event], int]:
    """Return the events of a leg from the switch before it on, and from when on all are there."""
    if cpu is None:
        return [], leg.end_ns
    records: list[Record] = []
    whole = len(cpu.ring) < (cpu.ring.maxlen or 0)
    observed = cpu.first_ns if whole else leg.end_ns
    for record in cpu.back():
        time_ns, kind = record[0], record[1]
        if kind is None or len(records) == MOST_EVENTS:
            observed = time_ns
            break
        if time_ns > leg.end_ns:
            continue
        if not switches and time_ns < leg.start_ns:
            observed = leg.start_ns
            break
        records.append(record)
        if kind is Kind.SWITCH and time_ns <= leg.start_ns:
            observed = leg.start_ns
            break
        if not whole:
            observed = time_ns
    events = [event for record in reversed(records)
              if (event := event_of(record, leg.cpu)) is not None]  # fmt: skip
    # What a tracer tells at the end of something has begun before.
    events.sort(key=lambda event: event.time_ns)
    return events, min(max(observed, leg.start_ns), leg.end_ns)


def _with_stages(activation: Activation, events: list[Event]) -> Activation:
    """Return an activation of a tracer's thread with its switch, where the trace has that too."""
    if activation.switched_ns is not None:
        return activation
    # What was made of noise has no state of the thread before.
    at = [event.time_ns for event in events if event.id == activation.pid and event.prev_state]
    switched = [time for time in at if activation.due_ns <= time <= activation.run_ns]
    return replace(activation, switched_ns=switched[-1]) if switched else activation


def _left_at(events: list[Event], activation: Activation) -> int | None:
    """Return when the CPU was first taken from a lower-priority thread while it waited for it.

    The stack there shows what kept that thread from being preempted; those of later switches are
    other threads'.
    """
    for event in events:
        waits = activation.waking_ns is not None and event.time_ns >= activation.waking_ns
        if event.kind is Kind.SWITCH and waits and event.prev_prio > activation.prio:
            return event.time_ns
    return None


def _is_its_own(event: Event, activation: Activation, left_ns: int | None) -> bool:
    """Whether an event is no stack, or a stack that shows what this activation waited for."""
    if event.kind is not Kind.STACK:
        return True
    if event.name == "switch":
        return event.time_ns == left_ns
    began = activation.woken.interrupt_ns
    until = activation.waking_ns if activation.waking_ns is not None else activation.run_ns
    return began is not None and began <= event.time_ns <= until


def _window(
    activation: Activation,
    leg: Leg,
    events: tuple[Event, ...],
    observed: int,
    number: int,
    reason: Reason,
) -> Window:
    return Window(
        cpu=leg.cpu,
        activation=number,
        pid=activation.pid,
        prio=activation.prio,
        due_ns=leg.start_ns,
        run_ns=leg.end_ns,
        reason=reason,
        timer_ns=activation.woken.interrupt_ns,
        waking_ns=activation.waking_ns,
        switched_ns=activation.switched_ns,
        waking_cpu=None,
        observed_ns=observed,
        events=events,
    )
