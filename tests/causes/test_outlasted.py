"""What the ring has lost of a stall, the running sums still bound from below."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from windows import DUE, PID, PRIO, event, switch, window

from whylate.causes.window.piece import Cause
from whylate.causes.window.pieces import cut_window
from whylate.causes.window.running_sums import BY_SUMS
from whylate.recording.events import Kind, Window

MS = 1_000_000


def stalled(*sums: int) -> Window:
    """A window of 10 ms whose first 6 ms were lost; 1 ms of interrupt is in what is there."""
    return replace(
        window(
            switch(6 * MS, 20, "make", 120, prev=20),
            event(7 * MS, Kind.IRQ_ENTRY, id=24, name="eth0"),
            event(8 * MS, Kind.IRQ_EXIT, id=24),
            switch(10 * MS - 10, PID, "whylate", PRIO, prev=20),
            run=10 * MS, waking=8 * MS + 1, switched=10 * MS - 10, observed=6 * MS,
        ),
        sums=sums,
    )  # fmt: skip


def lost(window: Window) -> list[tuple[str, str, int]]:
    return [(piece.cause.value, piece.detail, piece.length_ns) for piece in cut_window(window)
            if piece.end_ns <= DUE + 6 * MS]  # fmt: skip


def test_what_is_neither_before_due_nor_in_the_events_was_in_between() -> None:
    # 10.99999 ms in all: 1 ms of that was before the activation was due.
    found = lost(stalled(5 * MS, 0, 0, 1 * MS, 5 * MS - 10, 7))
    assert found == [("not observed", "", 3 * MS), ("interrupt", BY_SUMS, 3 * MS)]


def test_each_kind_is_named_and_no_more_than_there_is_room_for() -> None:
    assert lost(stalled(3 * MS, 3 * MS, MS, 0, 3 * MS - 10, 0)) == [
        ("nmi", BY_SUMS, MS), ("softirq", BY_SUMS, 3 * MS), ("interrupt", BY_SUMS, 2 * MS),
    ]  # fmt: skip
    assert sum(ns for _, _, ns in lost(stalled(90 * MS, 0, 0, 0, 0, 0))) == 6 * MS


@pytest.mark.parametrize("sums", [(), (0,) * 6, (MS, 0, 0, 9 * MS, 0, 0)])
def test_without_evidence_it_was_not_observed(sums: tuple[int, ...]) -> None:
    assert lost(stalled(*sums)) == [("not observed", "", 6 * MS)]


@given(st.lists(st.integers(0, 20 * MS), min_size=6, max_size=6))
def test_whatever_the_sums_say_the_pieces_fill_the_window(sums: list[int]) -> None:
    one = stalled(*sums)
    pieces = cut_window(one)
    assert pieces[0].start_ns == one.due_ns
    assert all(a.end_ns == b.start_ns for a, b in pairwise(pieces))
    assert pieces[-1].end_ns == one.run_ns
    named = {Cause.INTERRUPT, Cause.SOFTIRQ, Cause.NMI, Cause.NOT_OBSERVED}
    assert {piece.cause for piece in pieces if piece.end_ns <= DUE + 6 * MS} <= named
