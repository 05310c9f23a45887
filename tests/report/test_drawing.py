"""A late activation as it is drawn: pieces above what ran, in parts of one width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from report_examples import RECORDED

from whylate.causes.answer import TracedActivation, explain_recording, read_activations
from whylate.causes.population import Breakdown
from whylate.causes.window.piece import Cause
from whylate.causes.window.pieces import cut_window
from whylate.recording.events import Event, Kind, Window
from whylate.recording.reader import open_recording
from whylate.report.page.activation import BLOCK, HEAD, MOST_BLOCKS, ROW, Block, Drawing, drawing

DUE = 50_000_000
PID = 7


def story(window: Window) -> TracedActivation:
    pieces = tuple(cut_window(window))
    one = Breakdown(window.cpu, window.activation, window.due_ns, window.latency_ns, pieces)
    return TracedActivation(one, window)


def window(events: Sequence[Event], run: int = 1_000_000, cpu: int = 0) -> Window:
    return Window(
        cpu=cpu, activation=3, pid=PID, prio=4, due_ns=DUE, run_ns=DUE + run, reason="tail",
        timer_ns=DUE + 100_000, waking_ns=DUE + 150_000, switched_ns=DUE + 900_000,
        waking_cpu=None, observed_ns=DUE, events=tuple(sorted(events, key=lambda one: one.time_ns)),
    )  # fmt: skip


def event(at: int, kind: Kind, cpu: int = 0, **fields: object) -> Event:
    return Event(DUE + at, cpu, kind, **fields)  # type: ignore[arg-type]


PLAIN = [
    event(-400_000, Kind.SWITCH, id=20, name="make", prio=120),
    event(100_000, Kind.VECTOR_ENTRY, name="local_timer"),
    event(150_000, Kind.WAKING, id=PID, target_cpu=0),
    event(200_000, Kind.VECTOR_EXIT, name="local_timer"),
    event(900_000, Kind.SWITCH, id=PID, name="whylate", prio=4, prev_id=20),
]
WOKEN_BY_2 = [
    *(one for one in PLAIN if one.kind is not Kind.WAKING),
    event(-30_000, Kind.SWITCH, 2, id=0),
    event(140_000, Kind.IRQ_ENTRY, 2, id=24, name="eth0"),
    event(150_000, Kind.WAKING, 2, id=PID, target_cpu=0),
    event(180_000, Kind.IRQ_EXIT, 2, id=24),
    event(-30_000, Kind.SWITCH, 1, id=9, name="other"),
]


def drawn(one: Window) -> Drawing:
    return drawing(story(one), "head", lambda cause, _: f"of-{cause.value}")


def row(found: Drawing, name: str, nth: int = 0) -> list[Block]:
    places = [index for index, one in enumerate(found.rows) if one.name == name]
    return [block for block in found.blocks if block.y == HEAD + ROW * places[nth]]


def test_its_rows_are_the_pieces_and_the_tracks_that_hold_something() -> None:
    found = drawn(window(PLAIN))
    assert [one.name for one in found.rows] == ["pieces", "CPU 0", "threads", "interrupts"]
    assert [one.heading for one in found.rows] == [False, True, False, False]
    assert found.height > HEAD + 4 * ROW
    assert {block.y for block in found.blocks} == {HEAD, HEAD + 2 * ROW, HEAD + 3 * ROW}
    assert BLOCK < ROW


def test_pieces_fill_the_width_between_due_and_ran() -> None:
    found = drawn(window(PLAIN))
    marks = {mark.name: mark.x for mark in found.marks}
    pieces = row(found, "pieces")
    assert pieces[0].x == marks["due"]
    assert pieces[-1].x + pieces[-1].width == pytest.approx(marks["ran"], abs=0.01)
    for one, after in pairwise(pieces):
        assert one.x + one.width == pytest.approx(after.x, abs=0.01)
    assert {block.colour for block in pieces} <= {f"of-{cause.value}" for cause in Cause}


def test_a_block_stands_where_the_moments_are() -> None:
    found = drawn(window(PLAIN))
    marks = {mark.name: mark.x for mark in found.marks}
    (interrupt,) = row(found, "interrupts")
    assert interrupt.x == marks["interrupt"]
    assert marks["due"] < marks["interrupt"] < marks["woken"] < marks["switched in"] < marks["ran"]
    assert row(found, "threads")[-1].x == marks["switched in"]
    assert found.moments[1] == "interrupt +100 µs"
    assert interrupt.title == "local_timer: 100 µs"


def test_the_cpu_that_woke_it_comes_right_below_its_own() -> None:
    found = drawn(window(WOKEN_BY_2))
    headings = [one.name for one in found.rows if one.heading]
    assert headings == ["CPU 0", "CPU 2, which woke it", "CPU 1"]
    (interrupt,) = row(found, "interrupts", 1)
    assert interrupt.name == "eth0"
    assert [block.name for block in row(found, "threads", 1)] == ["idle"]


def test_of_many_cpus_a_few_are_drawn_and_the_waker_is_one_of_them() -> None:
    crowd = [event(-9_000, Kind.SWITCH, cpu, id=5, name="x") for cpu in range(10, 60)]
    waking = event(150_000, Kind.WAKING, 59, id=PID)
    found = drawn(window([*(one for one in PLAIN if one.kind is not Kind.WAKING), *crowd, waking]))
    headings = [one.name for one in found.rows if one.heading]
    assert headings == ["CPU 0", "CPU 59, which woke it", "CPU 10"]


def test_thousands_of_short_ones_are_drawn_together_and_counted() -> None:
    short = []
    for index in range(3_000):
        at = 210_000 + 200 * index
        name = "NET_RX" if index % 3 else "TIMER"
        short += [event(at, Kind.SOFTIRQ_ENTRY, name=name),
                  event(at + 150, Kind.SOFTIRQ_EXIT, name=name)]  # fmt: skip
    found = drawn(window([*PLAIN, *short]))
    (together,) = row(found, "softirqs")
    assert together.title == "3000 short ones (TIMER, NET_RX): 600 µs"
    assert len(found.blocks) < 20


def test_a_row_has_no_more_blocks_than_a_page_can_bear() -> None:
    """Each as wide as is seen, with as wide a gap behind it."""
    wide = []
    for index in range(310):
        at = 210_000 + 2_200 * index
        end = at + (2_150 if index % 2 else 50)
        wide += [event(at, Kind.SOFTIRQ_ENTRY, name="RCU"),
                 event(end, Kind.SOFTIRQ_EXIT, name="RCU")]  # fmt: skip
    found = drawn(window([*PLAIN, *wide]))
    assert 1 <= len(row(found, "softirqs")) <= MOST_BLOCKS


def test_names_stand_only_where_there_is_room() -> None:
    found = drawn(window(PLAIN))
    fits = {block.name: block.fits for block in row(found, "threads") + row(found, "interrupts")}
    assert fits == {"make": "", "local_timer": "roomy", "whylate": "roomy"}
    brief = drawn(window(PLAIN, run=30_000_000))
    assert row(brief, "interrupts")[0].fits == "none"


def test_the_axis_begins_at_due_and_has_a_few_round_steps() -> None:
    for run in (1, 9, 950, 12_345, 1_000_000, 77_000_000, 3_000_000_000):
        found = drawn(window([], run=run))
        assert found.ticks[0].label == "0"
        assert 2 <= len(found.ticks) <= 7, run
        assert all(0 <= tick.x <= 100 for tick in found.ticks)
    assert [tick.label for tick in drawn(window(PLAIN)).ticks] == [
        "0", "0.2 ms", "0.4 ms", "0.6 ms", "0.8 ms", "1 ms"]  # fmt: skip


def test_a_window_of_which_nothing_was_observed_is_drawn_as_that() -> None:
    one = replace(window([]), observed_ns=DUE + 1_000_000)
    found = drawing(
        TracedActivation(Breakdown(0, 3, DUE, 1_000_000, None), one), "", lambda cause, _: cause
    )
    assert [block.colour for block in row(found, "pieces")] == ["not observed"]
    assert [block.name for block in row(found, "threads")] == ["not recorded"]


def test_times_that_no_clock_has_are_drawn_without_harm() -> None:
    odd = [event(-(1 << 62), Kind.SWITCH, id=2, name="x"), event(1 << 62, Kind.IDLE_ENTRY)]
    for run in (-5, 0, 1):
        found = drawn(window([*PLAIN, *odd], run=run))
        assert all(-1 <= block.x <= 101 and 0 < block.width <= 102 for block in found.blocks)


def test_every_recorded_window_can_be_drawn() -> None:
    recording = open_recording(RECORDED)
    found = [drawing(one, "", lambda *_: "x") for one in read_activations(recording)]
    assert len(found) > 100
    for one in found:
        assert all(0 <= b.x <= 100 and b.x + b.width <= 100.2 for b in one.blocks)
    assert len(explain_recording(recording).worst) == 5
