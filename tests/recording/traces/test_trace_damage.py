"""Traces that are damaged, hostile or too large: a clear line, and what is left is right."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from of_traces import CYCLICTEST, EVERYBODY, OF_EVENTS, AddActivation, follow, lines_of

from whylate.recording.activation import Activation
from whylate.recording.errors import RecordingError
from whylate.recording.traces.fields import state_of
from whylate.recording.traces.lines import LONGEST_LINE, Lines
from whylate.recording.traces.read import read_trace


def _shifted(line: bytes, by: float) -> bytes:
    head, colon, rest = line.partition(b": ")
    before, _, time = head.rpartition(b" ")
    return before + b" %.6f" % (float(time) + by) + colon + rest


@pytest.mark.parametrize("state", ["²", "٣", "9" * 5000, "\ufffd"])
def test_a_state_that_is_no_number_is_no_set_of_bits(state: str) -> None:
    assert state_of(state.encode()) == state[:1]


def test_a_clock_that_goes_back_is_told_once_and_nothing_goes_on_across_it() -> None:
    lines = lines_of("ftrace.txt")
    half = len(lines) // 2
    back = [*lines[:half], *(_shifted(line, -1) for line in lines[half:])]
    read, found = follow(back, CYCLICTEST)
    seen = read.seen
    assert (seen.backwards, seen.backwards_line, seen.backwards_cpu) == (1, half + 1, 0)
    assert abs(seen.backwards_ns - 1_000_000_000) < 10_000_000
    first_ns = 1e9 * float(_shifted(lines[half], -1).partition(b": ")[0].split()[-1])
    for one in found:
        assert one.activation.latency_ns < 900_000_000
        if first_ns <= one.activation.due_ns < first_ns + 1e6:
            assert one.cut.window.observed_ns >= first_ns - 1000
    _, whole = follow(lines, CYCLICTEST)
    assert len(whole) - 3 <= len(found) <= len(whole)


def test_small_steps_back_of_merged_buffers_are_taken_as_equal() -> None:
    lines = lines_of("ftrace.txt")
    lines[300] = _shifted(lines[300], -0.00005)
    read, _ = follow(lines, CYCLICTEST)
    assert read.seen.backwards == 0


def test_lost_events_leave_the_time_there_unobserved() -> None:
    for name in ("ftrace-lost.txt", "trace-cmd-lost.txt"):
        read, found = follow(name)
        assert read.seen.losses >= 1
        assert read.seen.lost > 100
        lines = lines_of(name)
        at = next(i for i, line in enumerate(lines) if b"EVENTS" in line)
        resumes = next(line for line in lines[at + 1 :] if b": sched_" in line or b": irq" in line)
        words = resumes.partition(b": ")[0].split()[-1].split(b".")
        resumes_ns = int(words[0]) * 10**9 + int(words[1].ljust(9, b"0"))
        for one in found:
            due, run = one.activation.due_ns, one.activation.run_ns
            assert not due < resumes_ns - 1_000_000 < run


def _line(at: str, fields: str, cpu: int = 0) -> bytes:
    return f"  x-1  [{cpu:03}] d... 1.{at}: {fields}".encode()


def test_nothing_that_began_before_a_loss_goes_on_behind_it() -> None:
    waking = "sched_waking: comm=a pid=1 prio=9 target_cpu=000"
    to_it = "sched_switch: low:8 [120] R ==> a:1 [9]"
    lines = [
        _line("000000", "sched_switch: z:7 [120] S ==> low:8 [120]"),
        _line("000100", "irq_handler_entry: irq=9 name=lost"),
        _line("000110", waking),
        b"CPU:0 [LOST 5 EVENTS]",
        # It may have run and slept again in between.
        _line("000500", to_it),
        _line("000600", "sched_switch: a:1 [9] S ==> low:8 [120]"),
        _line("000700", waking),
        _line("000800", to_it),
    ]
    _, found = follow(lines, EVERYBODY)
    assert [one.activation.due_ns for one in found] == [1_000_700_000]
    lines[4:6] = [_line("000490", "softirq_raise: vec=3 [action=NET_RX]")]
    _, found = follow(lines, EVERYBODY)
    (one,) = found
    # The interrupt that began before is not what woke it, and who had the CPU is not known.
    assert one.activation.due_ns == 1_000_700_000
    assert one.spent("interrupt") == 0
    assert one.spent("not observed") == 100_000
    assert one.cut.window.observed_ns == 1_000_700_000


def test_a_window_begins_where_events_were_lost() -> None:
    lines = [
        _line("000000", "sched_switch: z:7 [120] S ==> low:8 [120]"),
        _line("000100", "hrtimer_start: hrtimer=1 softexpires=1000600000"),
        b"CPU:1 [LOST 5 EVENTS]",
        _line("000200", "hrtimer_start: hrtimer=1 softexpires=1000300000"),
        b"CPU:0 [LOST 5 EVENTS]",
        _line("000210", "hrtimer_start: hrtimer=1 softexpires=1000205000"),
        _line("000300", "local_timer_entry: vector=236"),
        _line("000300", "hrtimer_expire_entry: hrtimer=1 function=hrtimer_wakeup now=1000300000"),
        _line("000310", "sched_waking: comm=a pid=1 prio=9 target_cpu=000"),
        _line("000400", "sched_switch: low:8 [120] R ==> a:1 [9]"),
    ]
    _, found = follow(lines, EVERYBODY)
    (one,) = found
    assert one.activation.due_ns == 1_000_205_000
    assert one.cut.window.observed_ns == 1_000_210_000
    # Who had the CPU before the first switch is not known, the interrupt is.
    assert one.spent("not observed") == 95_000
    assert one.spent("interrupt", "local_timer: hrtimer_wakeup") == 100_000


def test_cpus_that_cannot_be_there_are_left_out_and_told() -> None:
    lines = lines_of("trace-cmd.txt")
    read, _ = follow([*lines, *(line.replace(b"[000]", b"[4096]") for line in lines[20:30])])
    assert (read.seen.impossible, read.seen.impossible_cpu) == (10, 4096)
    lines = lines_of("ftrace.txt")
    assert any(b"#P:2" in line for line in lines)
    others = [lines[30].replace(b"[000]", b"[%03d]" % cpu) for cpu in (1, 2, 3)]
    read, _ = follow([*lines, *others])
    assert (read.seen.impossible, read.seen.impossible_cpu) == (2, 2)


def test_a_cut_file_is_used_up_to_its_last_whole_line() -> None:
    whole = b"\n".join(lines_of("perf.txt"))
    for end in (len(whole) // 2, len(whole) // 3 + 7):
        found: list[Activation] = []

        def take(one: Activation, _: object, kept: list[Activation] = found) -> None:
            kept.append(one)

        read = read_trace(io.BytesIO(whole[:end]), "t", CYCLICTEST, take)
        assert read.seen.torn
        assert read.seen.odd == 0
        assert found


@pytest.mark.parametrize(
    ("begins", "says"),
    [
        (b"\x17\x08Dtracing6\0", "trace-cmd report"),
        (b"PERFILE2h\0\0\0", "perf script"),
        (b"\x1f\x8b\x08\0", "zcat"),
        (b"\x7fELF\x02\x01\0", "no text"),
        (b"", "is empty"),
        (b"hello\nworld\n", "not a known trace"),
        (b"# tracer: nop\n#\n", "without any event"),
        (b"# tracer: nop\n\n\n", "without any event"),
        (b"perf  12 47245.172941: sched:sched_waking: comm=a pid=1 prio=1 target_cpu=0\n",
         "the CPUs of its events"),
        (b" a-1  [000] 1.000000: sys_enter: NR 1\n" * 9, "no sched_switch"),
        (b" a-1  [000] 1.000000: sched_switch: a:1 [120] S ==> b:2 [120]\n" * 9, "sched_waking"),
    ],
)  # fmt: skip
def test_what_cannot_be_explained_is_one_clear_line(begins: bytes, says: str) -> None:
    with pytest.raises(RecordingError, match=says) as caught:
        read_trace(io.BytesIO(begins), "trace.txt", None, lambda _, __: None)
    assert "\n" not in str(caught.value)


_FIXTURES = [lines_of(name) for name in OF_EVENTS]
_GARBAGE = st.one_of(
    st.binary(max_size=200).map(lambda raw: raw.replace(b"\n", b" ").replace(b"\0", b" ")),
    st.sampled_from(
        [
            b" x-1 [000] 99999999999.000000: sched_switch: ",
            b" x-1 [000] 9999999999.999999: hrtimer_expire_entry: hrtimer=0x1 now=" + b"9" * 19,
            b" x-1 [000] 1.000000: sched_waking: comm= pid=99999999999999 prio=1 target_cpu=0",
            b" x-1 [99999] 1.000000: sched_waking: comm=a pid=1 prio=1 target_cpu=0",
            b" x-1 [000] 5.000000: irq_noise: x:1 start 1.0 duration 999999999999999999 ns",
            b" x-1 [000] 5.000000: #1 context thread timer_latency 999999999999999999 ns",
            b" x-1 [000] 5.000000: nmi_handler: f() delta_ns: 999999999999999999 handled: 1",
            b"CPU:0 [LOST 999999999999999999 EVENTS]",
            b"CPU:1 [EVENTS DROPPED]",
            b" => " + b"f" * 500,
            b"\tffffffffffffffff f+0x1 ([kernel.kallsyms])",
            b"# entries-in-buffer/entries-written: 1/99999999999999999   #P:0",
        ]
    ),
)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_whatever_is_cut_out_or_put_in_pieces_still_sum_to_latencies(data: st.DataObject) -> None:
    lines = list(data.draw(st.sampled_from(_FIXTURES)))
    first = data.draw(st.integers(0, len(lines) - 1))
    lines = lines[first : first + 150]
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(lines)))
        lines.insert(at, data.draw(_GARBAGE))
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at] = lines[at][: data.draw(st.integers(0, 120))]
    found: list[AddActivation] = []
    with suppress(RecordingError):
        _, found = follow(lines, EVERYBODY)
    for one in found:
        assert one.activation.latency_ns >= 0
        assert sum(piece.length_ns for piece in one.pieces) == one.activation.latency_ns


class _Endless(io.RawIOBase):
    """A trace of so many copies of the same lines, each a second later than the one before."""

    def __init__(self, copies: int) -> None:
        self._chunks = self._made(copies)

    @staticmethod
    def _made(copies: int) -> Iterator[bytes]:
        lines = lines_of("ftrace.txt")
        for copy in range(copies):
            yield (
                b"\n".join(line if line[:1] == b"#" else _shifted(line, copy) for line in lines)
                + b"\n"
            )

    def read(self, size: int = -1) -> bytes:
        del size
        return next(self._chunks, b"")


def test_memory_does_not_grow_with_the_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("whylate.recording.traces.read.HEAD_BYTES", 1 << 20)
    monkeypatch.setattr("whylate.recording.traces.follow.ROOM", 1 << 12)

    def peak(copies: int) -> int:
        tracemalloc.start()
        count = 0

        def take(*_: object) -> None:
            nonlocal count
            count += 1

        read_trace(_Endless(copies), "t", CYCLICTEST, take)  # type: ignore[arg-type]
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert count >= 50 * copies
        return most

    # The head is kept whole, and the last records up to their number.
    few, many = peak(20), peak(60)
    assert many < few * 1.1


class _WithoutEnd(io.RawIOBase):
    """A line of 64 MiB."""

    def __init__(self) -> None:
        self._left = 64

    def read(self, size: int = -1) -> bytes:
        del size
        self._left -= 1
        return b"x" * (1 << 20) if self._left >= 0 else b""


def test_a_line_as_large_as_the_file_is_not_kept() -> None:
    tracemalloc.start()
    lines = Lines(_WithoutEnd(), "t")  # type: ignore[arg-type]
    assert list(lines) == []
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 8 << 20
    assert (lines.torn, lines.too_long) == (True, 1)


def test_a_line_without_end_is_left_out_in_bounded_memory() -> None:
    text = b"a\n" + b"x" * (3 * LONGEST_LINE + (1 << 20)) + b"\nb\n"
    lines = Lines(io.BytesIO(text), "t")
    assert list(lines) == [b"a", b"b"]
    assert lines.too_long == 1


@pytest.mark.parametrize("before", ["    ", "\t", "> ", ">> ", "  > ", ">     "])
@pytest.mark.parametrize(
    "name",
    ["ftrace.txt", "ftrace-stacks.txt", "perf.txt", "perf-stacks.txt", "trace-cmd.txt",
     "trace-cmd-latency.txt", "pc-rt-timerlat.txt"],
)  # fmt: skip
def test_a_trace_out_of_a_mail_is_read_as_it_was(name: str, before: str) -> None:
    plain_read, plain = follow(name, None)
    pasted = [before.encode() + line for line in lines_of(name)]
    read, found = follow([b"This is the trace:", b"", *pasted], None)
    assert [one.pieces for one in found] == [one.pieces for one in plain]
    assert read.chosen == plain_read.chosen
    assert read.seen.header_cpus == plain_read.seen.header_cpus
    # What introduces it is no line of a trace.
    assert read.seen.odd == plain_read.seen.odd + 1
