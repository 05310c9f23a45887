"""Functions of others at tracepoints and notifiers: what of an activation is theirs."""

from __future__ import annotations

import pytest
from windows import DUE, PID, PRIO, event, switch, window

from whylate.causes.episodes import less_switching
from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause, Piece, Stage
from whylate.causes.window.pieces import cut_window
from whylate.recording.events import Event, Kind
from whylate.recording.recorder.raw_events import Names, name_events
from whylate.wire.constants import EventKind, NameTable
from whylate.wire.events import RawEvent

NAME = "slow [tracer]"


def hook(end: int, length: int, name: str = NAME) -> Event:
    return event(end, Kind.HOOK, id=20, name=name, duration_ns=length)


def cut(*between: Event, after: tuple[Event, ...] = ()) -> list[Piece]:
    """Cut a window with its interrupt at 20,000, and the switch at 60,000."""
    return cut_window(
        window(
            switch(-400, 20, "make"),
            *(e for e in between if e.time_ns - DUE < 20_000),
            event(20_000, Kind.VECTOR_ENTRY, name="local_timer"),
            event(20_150, Kind.WAKING, id=PID, prio=PRIO, target_cpu=0),
            event(20_200, Kind.VECTOR_EXIT, name="local_timer"),
            *(e for e in between if e.time_ns - DUE >= 20_000),
            switch(60_000, PID, "whylate", PRIO, prev=20),
            *after,
            run=90_000, timer=20_000, waking=20_150, switched=60_000,
        )
    )  # fmt: skip


def of_hooks(pieces: list[Piece]) -> list[tuple[int, int, str]]:
    return [(p.start_ns - DUE, p.end_ns - DUE, p.detail) for p in pieces if p.cause is Cause.HOOK]


def test_what_it_takes_before_a_switch_and_on_the_way_back_is_its_own() -> None:
    pieces = cut(hook(59_900, 30_000), after=(hook(80_000, 15_000, "notifier [kvm]"),))
    assert of_hooks(pieces) == [(29_900, 59_900, NAME), (65_000, 80_000, "notifier [kvm]")]
    assert sum(piece.length_ns for piece in pieces) == 90_000


def test_what_interrupts_it_stays_what_it_is() -> None:
    pieces = cut(
        event(40_000, Kind.IRQ_ENTRY, id=24, name="eth0"),
        hook(44_000, 3_000, "inner [drv]"),
        event(45_000, Kind.IRQ_EXIT, id=24, name="eth0"),
        hook(59_900, 30_000),
    )
    assert of_hooks(pieces) == [
        (29_900, 40_000, NAME),
        (41_000, 44_000, "inner [drv]"),
        (45_000, 59_900, NAME),
    ]
    assert [p.length_ns for p in pieces if p.cause is Cause.INTERRUPT and p.detail == "eth0"] == [
        1_000,
        1_000,
    ]


def test_one_that_was_preempted_has_what_follows_the_last_switch() -> None:
    pieces = cut(
        switch(30_000, 30, "other", prev=20), switch(50_000, 20, "make", prev=30),
        hook(59_900, 45_000),
    )  # fmt: skip
    assert of_hooks(pieces) == [(50_000, 59_900, NAME)]


@pytest.mark.parametrize(("end", "named"), [(19_500, True), (5_000, False), (24_000, False)])
def test_while_the_interrupt_is_pending_it_must_have_ended_as_that_came(
    end: int, named: bool
) -> None:
    pieces = cut(hook(end, end))
    before = [piece for piece in pieces if piece.start_ns < DUE + min(end, 20_000)]
    assert before
    assert all((piece.cause is Cause.HOOK) is named for piece in before)
    assert named or all(piece.cause is Cause.UNEXPLAINED for piece in before)


def test_the_cost_of_switching_is_taken_off_the_section_before_it() -> None:
    section = Piece(0, 10_000, Cause.PREEMPTION_DISABLED, "lock in make", Stage.RUNNABLE)
    its_own = Piece(10_000, 40_000, Cause.HOOK, NAME, Stage.RUNNABLE)
    late = Breakdown(0, 1, 0, 40_000, (section, its_own))
    pieces = less_switching(late, 3_000).pieces
    assert pieces is not None
    assert [(p.cause, p.length_ns) for p in pieces] == [
        (Cause.PREEMPTION_DISABLED, 7_000),
        (Cause.SCHEDULING, 3_000),
        (Cause.HOOK, 30_000),
    ]


def test_it_arrives_with_its_function_and_length() -> None:
    names = Names()
    names.add(NameTable.FUNCTION, 3, "slow+0x0 [tracer]")
    raw = [RawEvent(5, EventKind.HOOK, 0, 0, 20, 7000, 3, 0)]
    (named,) = name_events(raw, 0, names, "x86_64")
    assert (named.kind, named.id, named.name, named.duration_ns) == (Kind.HOOK, 20, NAME, 7000)
