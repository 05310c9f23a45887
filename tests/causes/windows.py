"""Windows written down by hand: a measured thread of pid 7, and what happens on its CPU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from whylate.recording.events import Event, Kind, Window

PID = 7
PRIO = 4
DUE = 1_000_000


def event(at: int, kind: Kind, **fields: Any) -> Event:
    """An event at so many ns after the activation was due, on CPU 0 unless pieces_of."""
    return Event(DUE + at, fields.pop("cpu", 0), kind, **fields)


def switch(at: int, pid: int, name: str, prio: int = 120, prev: int = PID, **fields: Any) -> Event:
    return event(at, Kind.SWITCH, id=pid, name=name, prio=prio, prev_id=prev, **fields)


def window(
    *events: Event,
    run: int,
    timer: int | None = None,
    waking: int | None = None,
    switched: int | None = None,
    observed: int = -500,
) -> Window:
    """A window of an activation that ran `run` ns after it was due."""

    def at(offset: int | None) -> int | None:
        return None if offset is None else DUE + offset

    return Window(
        cpu=0,
        activation=3,
        pid=PID,
        prio=PRIO,
        due_ns=DUE,
        run_ns=DUE + run,
        reason="tail",
        timer_ns=at(timer),
        waking_ns=at(waking),
        switched_ns=at(switched),
        waking_cpu=None if waking is None else 0,
        observed_ns=DUE + observed,
        events=tuple(_with_left_priorities(events)),
    )


def _with_left_priorities(events: tuple[Event, ...]) -> Iterator[Event]:
    """As the kernel does: a thread leaves with the priority that it came with, if none is given."""
    prios = {PID: PRIO}
    for each in events:
        if each.kind is Kind.SWITCH:
            given = each.prev_prio or prios.get(each.prev_id, 120)
            prios[each.id] = each.prio
            yield replace(each, prev_prio=given)
        else:
            yield each


def busy_window(*between: Event, prio: int = 120, name: str = "make") -> Window:
    """An interrupt at 100, the waking in it at 150, its end at 200; the switch at 900."""
    return window(
        switch(-400, 20, name, prio),
        event(100, Kind.VECTOR_ENTRY, name="local_timer"),
        event(120, Kind.TIMER_ENTRY, id=1, name="hrtimer_wakeup"),
        event(150, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
        event(160, Kind.TIMER_EXIT, id=1),
        event(200, Kind.VECTOR_EXIT, name="local_timer"),
        *between,
        switch(900, PID, "whylate", PRIO, prev=20),
        run=1000,
        timer=100,
        waking=150,
        switched=900,
    )
