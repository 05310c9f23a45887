"""What the flight recorder sent becomes windows in words, whatever it sent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journals import INTERVAL, LATENCIES, START, journal, samples
from msgspec.structs import replace

from leb128 import leb128, zigzag
from whylate.recording.errors import RecordingError
from whylate.recording.events import USER_CODE, Kind
from whylate.recording.finish import finish
from whylate.recording.reader import open_recording
from whylate.recording.recorder.raw_events import enables
from whylate.recording.recorder.windows import EVENTS, WINDOWS, read_windows
from whylate.wire.constants import NOT_SEEN, EventKind
from whylate.wire.messages import (
    Events,
    Failed,
    Name,
    RecorderResult,
    RecorderSource,
    RecorderStarted,
    SampleStages,
    Window,
)

DUE = START + 2 * INTERVAL
STARTED = RecorderStarted("bpf", 4096)
NAMES = [
    Name(1, 1, "make"),
    Name(1, 2, "whylate"),
    Name(2, 1, "hrtimer_wakeup+0x0"),
    Name(2, 2, "flush_it+0x9 [drv]"),
    Name(2, 3, "vfs_ioctl+0x30"),
    Name(3, 24, "eth0"),
]
WINDOW = Window(
    cpu=0, tid=7, prio=4, reason=1, activation=2, due_ns=DUE, run_ns=DUE + 80_000,
    timer_ns=DUE + 700, waking_ns=DUE + 900, switched_ns=DUE + 79_000, waking_cpu=0,
    observed_ns=DUE, events=7, sums=(1000, 2000, 0, 0, 77_000, 0),
)  # fmt: skip
#: Kind, ns after due, a … f.
ROWS = [
    (EventKind.SWITCH, -100, 1, 4 | 120 << 8, 7, 20, 1, 0),
    (EventKind.TIMER_ENTRY, 710, 0, 0, 0, 0, 1, 0),
    (EventKind.STACK, 720, 1, 2, 20, 0, 2, 0xFB << 56),
    (EventKind.FRAMES, 720, 0, 0, 0, 0, 2, 3),
    (EventKind.WAKING, 900, 4, 0, 7, 0, 0, 0),
    (EventKind.IRQ_ENTRY, 1200, 0, 0, 24, 0, 0, 0),
    (EventKind.SWITCH, 79_000, 0x80, 120 | 4 << 8, 20, 7, 2, 0),
]


def events(rows: Sequence[tuple[int, ...]] = ROWS, cpu: int = 0) -> Events:
    data, before = b"", 0
    for kind, at, *fields in rows:
        mask = sum(1 << i for i, field in enumerate(fields) if field)
        data += bytes([kind, mask]) + leb128(zigzag(at - before))
        data += b"".join(leb128(field) for field in fields if field)
        before = at
    return Events(cpu, len(rows), data)


def stages(rows: list[tuple[int, int, int] | None]) -> SampleStages:
    data = b"".join(
        b"\0\0\0" if row is None else b"".join(leb128(1 + zigzag(ns)) for ns in row) for row in rows
    )
    return SampleStages(0, len(rows), 0, data)


def test_a_window_is_put_together_and_named(tmp_path: Path) -> None:
    manifest = finish(
        journal(
            tmp_path / "r",
            STARTED,
            RecorderSource("sched:sched_switch", 0),
            RecorderSource("nmi:nmi_handler", 2),
            samples(),
            stages([None, (100, 200, 300), (700, 900, 79_000), (-5, 6, 7)]),
            WINDOW,
            events(),
            *NAMES,
            RecorderResult(1, 0, 50, 0, 60, 700),
        )
    )
    assert manifest.problems == []
    report = manifest.recorder
    assert report is not None
    assert (report.engine, report.windows, report.runs, report.run_ns) == ("bpf", 1, 60, 700)
    assert [source.error for source in report.sources] == [0, 2]
    (window,) = read_windows(tmp_path / "r")
    assert (window.reason, window.latency_ns, window.pid) == ("tail", 80_000, 7)
    assert window.observed_ns == window.due_ns == DUE
    kinds = [event.kind for event in window.events]
    assert kinds == [Kind.SWITCH, Kind.TIMER_ENTRY, Kind.STACK, Kind.WAKING, Kind.IRQ_ENTRY,
                     Kind.SWITCH]  # fmt: skip
    first, timer, stack, waking, interrupt, last = window.events
    assert (first.name, first.id, first.prio, first.prev_id) == ("make", 20, 120, 7)
    assert (first.prev_state, last.prev_state) == ("S", "R")
    assert timer.name == "hrtimer_wakeup"
    assert stack.name == "timer"
    assert stack.enabled is True
    assert stack.stack == ("flush_it+0x9 [drv]", "flush_it+0x9 [drv]", "vfs_ioctl+0x30")
    assert (waking.id, waking.prio) == (7, 4)
    assert interrupt.name == "eth0"
    table = pq.read_table(tmp_path / "r" / "samples.parquet")
    assert table["timer_ns"].to_pylist() == [None, 100, 700, -5]
    assert table["switched_ns"].to_pylist() == [None, 300, 79_000, 7]
    (read,) = open_recording(tmp_path / "r").samples
    assert read.latency_ns.tolist() == LATENCIES
    assert read.stages is not None
    assert read.stages.timer_ns.tolist() == [NOT_SEEN, 100, 700, -5]
    assert read.stages.switched_ns.tolist() == [NOT_SEEN, 300, 79_000, 7]


def test_an_interrupt_that_found_user_code_says_so_and_other_cpus_events_are_kept(
    tmp_path: Path,
) -> None:
    rows = [(EventKind.SWITCH, -100, 1, 0, 7, 20, 1, 0),
            (EventKind.STACK, 720, 0x81, 0, 20, 0, 0, 0)]  # fmt: skip
    elsewhere = [(EventKind.WAKING, 800, 4, 0, 7, 0, 0, 0)]
    message = replace(WINDOW, events=2, reason=2, waking_cpu=1)
    finish(
        journal(tmp_path / "r", STARTED, samples(), message, events(rows),
                events(elsewhere, cpu=1), *NAMES)
    )  # fmt: skip
    (window,) = read_windows(tmp_path / "r")
    assert (window.reason, window.waking_cpu) == ("stop", 1)
    # It lost nothing: another CPU's events are not among those that were announced.
    assert window.observed_ns == DUE
    stack, waking = window.events[1:]
    assert (stack.stack, stack.enabled) == ((USER_CODE,), False)
    assert (waking.cpu, waking.kind) == (1, Kind.WAKING)


def test_what_went_to_several_cpus_at_once_is_an_event_for_each(tmp_path: Path) -> None:
    rows = [(EventKind.SWITCH, -100, 1, 0, 7, 20, 1, 0),
            (EventKind.IPI_SEND, 10, 0, 64, 0, 0, 3, 1 << 63 | 0b101),
            (EventKind.IPI_SEND, 20, 0, 5, 0, 0, 3, 0)]  # fmt: skip
    finish(journal(tmp_path / "r", STARTED, samples(), replace(WINDOW, events=3), events(rows),
                   *NAMES))  # fmt: skip
    (window,) = read_windows(tmp_path / "r")
    assert window.observed_ns == DUE
    assert [event.target_cpu for event in window.events[1:]] == [64, 66, 127, 5]


def test_a_window_for_no_reason_is_refused(tmp_path: Path) -> None:
    manifest = finish(
        journal(tmp_path / "r", STARTED, samples(), replace(WINDOW, reason=3), events())
    )
    assert list(read_windows(tmp_path / "r")) == []
    assert manifest.problems


def test_without_stages_the_columns_are_there_and_empty(tmp_path: Path) -> None:
    finish(journal(tmp_path / "r", samples()))
    table = pq.read_table(tmp_path / "r" / "samples.parquet")
    assert table["waking_ns"].null_count == len(LATENCIES)
    assert open_recording(tmp_path / "r").samples[0].stages is None


def test_a_refusal_is_kept_with_its_reason(tmp_path: Path) -> None:
    path = journal(tmp_path / "r", samples())
    raw = (path / "journal").read_bytes()
    cut = raw.index(b"\0\0") + 1
    from whylate.wire.frame import encode_frame

    refusal = Failed(9, 1, "bpf: not allowed; tracefs: not there")
    (path / "journal").write_bytes(
        raw[:cut] + encode_frame(Failed.KIND, 0, refusal.pack()) + raw[cut:]
    )
    manifest = finish(path)
    assert manifest.recorder is not None
    assert manifest.recorder.engine is None
    assert manifest.recorder.refused == refusal.text
    assert [(p.code, p.fatal) for p in manifest.problems] == [("recorder", False)]
    assert refusal.text in manifest.problems[0].text


def test_a_window_that_lost_events_on_the_way_was_not_observed(tmp_path: Path) -> None:
    manifest = finish(journal(tmp_path / "r", STARTED, samples(), WINDOW, events(ROWS[:3])))
    (window,) = read_windows(tmp_path / "r")
    assert window.observed_ns == window.run_ns
    assert any("lost events" in problem.text for problem in manifest.problems)


def test_names_that_no_kernel_gives_are_made_harmless(tmp_path: Path) -> None:
    names = [Name(1, 1, "\x1b[2Jevil\n" + "x" * 500), Name(3, 24, "<script>")]
    finish(journal(tmp_path / "r", STARTED, samples(), WINDOW, events(), *names))
    (window,) = read_windows(tmp_path / "r")
    assert window.events[0].name.startswith("?[2Jevil?xxx")
    assert len(window.events[0].name) == 160
    assert window.events[1].name == "?"


IMPOSSIBLE = [
    replace(WINDOW, run_ns=DUE - 1),
    replace(WINDOW, due_ns=1 << 63, run_ns=(1 << 63) + 5),
    replace(WINDOW, tid=1 << 31),
]


@pytest.mark.parametrize("message", IMPOSSIBLE)
def test_a_window_at_no_possible_time_is_counted_as_damage(tmp_path: Path, message: Window) -> None:
    manifest = finish(journal(tmp_path / "r", STARTED, samples(), message, events()))
    assert any(problem.code == "journal" for problem in manifest.problems)
    assert list(read_windows(tmp_path / "r")) == []


ANY = st.tuples(
    st.integers(0, 255), st.integers(-(1 << 40), 1 << 40), st.integers(0, 255),
    st.integers(0, 65535), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1),
    st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1),
)  # fmt: skip


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ANY, max_size=12))
def test_events_of_any_content_can_be_written_and_read_again(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, ...]]
) -> None:
    directory = tmp_path_factory.mktemp("any") / "r"
    window = replace(WINDOW, events=len(rows))
    finish(journal(directory, STARTED, samples(), window, events(rows), *NAMES))
    (read,) = read_windows(directory)
    assert all(event.cpu == 0 for event in read.events)
    times = [event.time_ns for event in read.events]
    assert times == sorted(times)


@pytest.mark.parametrize("name", [WINDOWS, EVENTS])
@pytest.mark.parametrize("part", [None, 0.0, 0.5, 0.99])
def test_files_that_are_cut_or_missing_are_one_line(
    tmp_path: Path, name: str, part: float | None
) -> None:
    finish(journal(tmp_path / "r", STARTED, samples(), WINDOW, events(), *NAMES))
    path = tmp_path / "r" / name
    data = path.read_bytes()
    path.unlink()
    if part is not None:
        path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(RecordingError) as caught:
        list(read_windows(tmp_path / "r"))
    assert "\n" not in str(caught.value)


def code(*at_the_end: int) -> int:
    return int.from_bytes(bytes(8 - len(at_the_end)) + bytes(at_the_end), "little")


@pytest.mark.parametrize(
    ("bytes_before", "machine", "wanted"),
    [
        (code(0x9D), "x86_64", True),  # popf
        (code(0xFB), "x86_64", True),  # sti, within its shadow
        (code(0xFB, 0x90), "x86_64", True),  # sti; nop
        (code(0xFB, 0x0F, 0x1F, 0x44, 0, 0), "x86_64", True),  # sti; a no-op of 5 bytes
        (code(0xFB, 0x48, 0x89, 0xC7), "x86_64", False),  # not within the shadow of anything
        (code(0x90, 0x90), "x86_64", False),
        (0xD50342FF << 32, "aarch64", True),  # msr daifclr, #2
        (0xD50344FF << 32, "aarch64", False),  # msr daifclr, #4: not interrupts
        (0xD51B4223 << 32, "aarch64", True),  # msr daif, x3
        (0xD5184601 << 32, "aarch64", True),  # msr icc_pmr_el1, x1
        (0xD503201F << 32, "aarch64", False),  # nop
        (0x10016073 << 32, "riscv64", True),  # csrsi sstatus, 2
        (0x1007A073 << 32, "riscv64", True),  # csrs sstatus, a5
        (0x10017073 << 32, "riscv64", False),  # csrci sstatus, 2
        (0, "x86_64", None),
        (code(0xFB), "armv7l", None),
    ],
)
def test_code_that_switches_interrupts_on_is_known(
    bytes_before: int, machine: str, wanted: bool | None
) -> None:
    assert enables(bytes_before, machine) is wanted
