"""What a person sees of a CPU: its tracks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from windows import DUE, PID, busy_window, event, switch, window

from whylate.causes.window.tracks import Span, SpanKind, Track, began_ns, cpus_of, cut_spans
from whylate.recording.events import Event, Kind, Window


def shown(window: Window, cpu: int = 0, end: int = 1000) -> list[tuple[int, int, str, str]]:
    return [
        (span.start_ns - DUE, span.end_ns - DUE, span.track.value, span.name)
        for span in cut_spans(window, cpu, began_ns(window, cpu), DUE + end)
    ]


def test_a_thread_goes_on_in_its_track_while_it_is_interrupted() -> None:
    assert shown(busy_window()) == [
        (-400, 900, "threads", "make"),
        (100, 120, "interrupts", "local_timer"),
        (120, 160, "interrupts", "local_timer: hrtimer_wakeup"),
        (160, 200, "interrupts", "local_timer"),
        (900, 1000, "threads", "whylate"),
    ]


def test_softirqs_and_locks_have_tracks_of_their_own() -> None:
    found = shown(busy_window(
        event(210, Kind.SOFTIRQ_ENTRY, id=3, name="NET_RX"),
        event(300, Kind.LOCK_BEGIN, id=9, name="queue"),
        event(400, Kind.LOCK_END, id=9),
        event(500, Kind.SOFTIRQ_EXIT, id=3, name="NET_RX"),
    ))  # fmt: skip
    assert (300, 400, "locks", "queue") in found
    assert [span[:2] for span in found if span[2] == "softirqs"] == [(210, 500)]


def test_the_measured_thread_and_idle_are_told_from_others() -> None:
    one = window(switch(-400, 0, "swapper/0"), switch(100, 20, "make", prev=0),
                 switch(300, PID, "whylate", prev=20), run=400)  # fmt: skip
    what = [span.what for span in cut_spans(one, 0, DUE - 400, DUE + 400)]
    assert what == [SpanKind.IDLE, SpanKind.THREAD, SpanKind.MEASURED]


def test_two_turns_of_one_thread_are_two_spans() -> None:
    one = window(switch(-400, 20, "make"), switch(100, 20, "make", prev=20), run=400)
    assert [span[:2] for span in shown(one, end=400)] == [(-400, 100), (100, 400)]


def test_what_was_not_observed_is_not_shown_as_if_it_was() -> None:
    one = replace(busy_window(), observed_ns=DUE + 110)
    found = cut_spans(one, 0, began_ns(one, 0), DUE + 1000)
    first = [span for span in found if span.start_ns < DUE + 110]
    assert [(span.what, span.end_ns - DUE) for span in first] == [(SpanKind.UNKNOWN, 110)]


def test_an_nmi_lies_over_what_it_interrupted() -> None:
    found = shown(busy_window(event(350, Kind.NMI, duration_ns=50, name="perf_event_nmi_handler")))
    assert (300, 350, "interrupts", "NMI perf_event_nmi_handler") in found
    assert (-400, 900, "threads", "make") in found


def test_of_another_cpu_nothing_is_known_before_its_first_switch() -> None:
    one = busy_window(event(140, Kind.WAKING, cpu=3, id=PID), switch(300, 8, "bash", cpu=3))
    one = replace(one, events=tuple(sorted(one.events, key=lambda other: other.time_ns)))
    assert cpus_of(one) == [0, 3]
    assert shown(one, 3) == [(0, 300, "threads", "not recorded"), (300, 1000, "threads", "bash")]


KINDS = st.sampled_from(list(Kind))
EVENTS = st.lists(
    st.builds(Event, st.integers(DUE - 500, DUE + 1500), st.integers(0, 2), KINDS,
              id=st.integers(0, 9), name=st.sampled_from(["", "a", "b"]),
              duration_ns=st.integers(0, 400)), max_size=40,
)  # fmt: skip


@given(EVENTS, st.integers(-300, 900))
@pytest.mark.parametrize("cpu", [0, 1])
def test_spans_of_a_track_never_overlap_and_threads_leave_no_gap(
    cpu: int, events: list[Event], observed: int
) -> None:
    one = window(*sorted(events, key=lambda other: other.time_ns), run=1000, observed=observed)
    start = began_ns(one, cpu)
    found = cut_spans(one, cpu, start, DUE + 1000)
    for track in Track:
        at = start
        for span in [span for span in found if span.track is track]:
            assert at <= span.start_ns < span.end_ns
            if track is Track.THREADS:
                assert span.start_ns == at
            at = span.end_ns
        assert at == DUE + 1000 or track is not Track.THREADS
    assert found == sorted(found, key=_when)


def _when(span: Span) -> tuple[int, int]:
    return span.start_ns, span.end_ns
