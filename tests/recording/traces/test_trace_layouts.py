"""Lines of traces: every one of real tools' is understood, and names in them deceive nobody."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from of_traces import OF_EVENTS, follow, lines_of

from whylate.recording.events import Kind
from whylate.recording.traces.fields import event_of, switch_of, text, waking_of
from whylate.recording.traces.layouts import FTRACE, LAYOUTS, NARROW, PERF, layout_of

NAMES = st.binary(min_size=1, max_size=15).filter(lambda name: b"\n" not in name)
NUMBERS = st.integers(1, 4_194_304)
#: Names that look like what stands around them.
HOSTILE = [b"a-1 [000] 1.1: ", b" pid=1 prio=2", b"x prev_pid=5", b"==> next_comm=",
           b"[1 EVENTS]", b"<...>", b"- - -", b"x:1 [120] R", b"\x1b[2J\r", b"#P:9",
           b"=> f", b"a 1 [007] 2.0:"]  # fmt: skip


@pytest.mark.parametrize("name", OF_EVENTS)
def test_every_line_of_a_real_trace_is_understood(name: str) -> None:
    read, found = follow(name)
    assert read.seen.odd == 0
    assert found
    assert sum(read.seen.events.values()) > 40


def test_each_tools_text_is_known_by_its_lines() -> None:
    for name, layout in (("ftrace.txt", FTRACE), ("trace-cmd.txt", FTRACE), ("perf.txt", PERF),
                         ("trace-cmd-latency.txt", NARROW), ("perf-stacks.txt", PERF)):  # fmt: skip
        assert layout_of([line for line in lines_of(name) if line[:1] != b"#"]) is layout
    assert layout_of([b"Nov 21 14:02:11 board kernel: [    0.000000] Linux version 6.1"]) is None


def _written(layout: int, name: bytes, pid: int, cpu: int) -> bytes:
    event = b"sched_waking: comm=" + name + b" pid=%d prio=9 target_cpu=%03d" % (pid, cpu)
    return (
        b"%16s-%-7d [%03d] d..2. 47214.227187: " % (name, pid, cpu) + event,
        b"%8.8s-%-7d %3dd..2. 47214.227187: " % (name, pid, cpu) + event,
        b"%16s %5d [%03d] 47214.227187123:  sched:" % (name, pid, cpu) + event,
    )[layout]


def _holds(layout: int, name: bytes, pid: int, cpu: int) -> None:
    found = LAYOUTS[layout].line.match(_written(layout, name, pid, cpu))
    assert found is not None
    assert int(found[2]) == pid
    assert int(found[3]) == cpu
    assert found[5] == b"47214"
    assert found[7] == b"sched_waking"
    assert waking_of(found[8]) == (name, pid, 9, cpu)


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("layout", [0, 1, 2])
def test_a_name_that_looks_like_the_line_around_it_changes_nothing(
    layout: int, name: bytes
) -> None:
    _holds(layout, name, 1234, 2)


@given(st.sampled_from([0, 2]), NAMES, NUMBERS, st.integers(0, 4095))
def test_whatever_a_thread_is_called_its_line_is_read_as_written(
    layout: int, name: bytes, pid: int, cpu: int
) -> None:
    _holds(layout, name, pid, cpu)


@given(NAMES, NAMES, NUMBERS, NUMBERS, st.integers(-1, 139), st.integers(-1, 139))
def test_both_names_of_a_switch_are_read_as_written(
    prev: bytes, name: bytes, prev_pid: int, pid: int, prev_prio: int, prio: int
) -> None:
    kernels = (
        b"prev_comm=%b prev_pid=%d prev_prio=%d prev_state=R+ ==> "
        b"next_comm=%b next_pid=%d next_prio=%d"
    )
    fields = prev, prev_pid, prev_prio, name, pid, prio
    assert switch_of(kernels % fields) == (prev, prev_pid, prev_prio, b"R+", name, pid, prio)


@given(st.binary(max_size=300))
def test_names_are_short_and_without_control_characters(raw: bytes) -> None:
    shown = text(raw)
    assert shown.isprintable()
    assert len(shown) <= 160


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        # The kernel's own text: a hashed address without 0x.
        (b"000000006d0fdd8e (flags=SPIN)", 0x6D0FDD8E),
        (b"0xffff8881 (flags=SPIN|MUTEX)", 0xFFFF8881),
        (b"lock_addr=0xffff8881 flags=0x1", 0xFFFF8881),
        # Its thread sleeps.
        (b"000000006d0fdd8e (flags=READ)", None),
        (b"lock_addr=0xffff8881 flags=2", None),
        (b"(flags=SPIN)", None),
    ],
)
def test_the_lock_that_is_spun_for_is_read(rest: bytes, expected: int | None) -> None:
    event = event_of((1000, Kind.LOCK_BEGIN, rest, 0), 0)
    assert (event.id if event is not None else None) == expected
