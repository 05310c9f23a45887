"""Windows that a board made up to keep us busy."""

from __future__ import annotations

import time

from windows import PID, event, switch, window

from whylate.causes.window.pieces import cut_window
from whylate.recording.events import Event, Kind, Window


def of_everything(count: int) -> Window:
    """What is put over other pieces, so many times each, and pieces in between to put it over."""
    events: list[Event] = [switch(-400, 20, "make")]
    for at in range(0, 10 * count, 10):
        events += [
            event(at + 1, Kind.NMI, name="perf", duration_ns=1),
            event(at + 3, Kind.STACK, name="timer", stack=("walk",), enabled=False, duration_ns=2),
            event(at + 6, Kind.STEAL, duration_ns=12),
            event(at + 7, Kind.VECTOR_ENTRY, name="local_timer"),
            event(at + 8, Kind.VECTOR_EXIT, name="local_timer"),
            event(at + 9, Kind.FAULT, id=PID),
        ]
    return window(*events, run=10 * count)


def cpu_s(made: Window) -> float:
    began = time.process_time()
    pieces = cut_window(made)
    assert sum(piece.length_ns for piece in pieces) == made.latency_ns
    return time.process_time() - began


def test_eight_times_the_events_take_nothing_like_sixty_four_times_the_time() -> None:
    few, many = of_everything(1000), of_everything(8000)
    assert min(cpu_s(many) for _ in range(2)) < 24 * min(cpu_s(few) for _ in range(2))
