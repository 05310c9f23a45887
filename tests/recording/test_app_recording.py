"""What a probe tells of a program's wakeups becomes samples whose account closes, or says why."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from app_journals import (
    INTERRUPT,
    NAMES,
    SECOND,
    SOFTIRQ,
    THREAD,
    Wakeup,
    app_journal,
    block,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from journals import START

from whylate.recording.errors import RecordingError
from whylate.recording.finish import finish
from whylate.recording.manifest import Manifest
from whylate.recording.reader import open_recording
from whylate.summary.summarize import summarize
from whylate.wire.messages import (
    AppEnded,
    CpuResult,
    CpuStarted,
    Note,
    Samples,
    SampleStages,
    SampleThreads,
)

#: In the order in which they ran: the second was due before the first.
WAKEUPS = [
    Wakeup(301, 2_000_000, 40_000),
    Wakeup(302, 1_990_000, 60_000, INTERRUPT, None),
    Wakeup(301, 3_000_000, 9_000, SOFTIRQ),
    Wakeup(302, 3_500_000, 2_500_000_000, THREAD),
]


def problems(manifest: Manifest) -> str:
    return "\n".join(one.text for one in manifest.problems if one.fatal)


def test_each_wakeup_says_whose_it_is_when_it_was_due_and_why(tmp_path: Path) -> None:
    manifest = finish(app_journal(tmp_path / "r", *block(WAKEUPS), *NAMES, seen=4))
    rows = pq.read_table(tmp_path / "r" / "samples.parquet").to_pylist()
    assert [row["activation"] for row in rows] == [0, 1, 2, 3]
    assert [row["due_ns"] for row in rows] == [START + one.due_ns for one in WAKEUPS]
    assert [row["pid"] for row in rows] == [301, 302, 301, 302]
    assert [row["origin"] for row in rows] == ["timer", "interrupt", "softirq", "thread"]
    assert [row["latency_ns"] for row in rows] == [one.latency_ns for one in WAKEUPS]
    assert [row["waking_ns"] for row in rows] == [900, None, 900, 900]
    # What does not fit the column is not told wrongly.
    assert [row["switched_ns"] for row in rows] == [40_000, None, 9_000, None]
    assert [(one.pid, one.name) for one in manifest.threads] == [(301, "pacer"), (302, "pacer-io")]
    assert not manifest.problems


def test_samples_are_read_in_the_order_in_which_they_were_due(tmp_path: Path) -> None:
    finish(app_journal(tmp_path / "r", *block(WAKEUPS), seen=4))
    (cpu_series,) = open_recording(tmp_path / "r").samples
    assert cpu_series.activation.tolist() == [1, 0, 2, 3]
    assert cpu_series.due_ns.tolist() == sorted(START + one.due_ns for one in WAKEUPS)
    assert cpu_series.latency_ns.tolist() == [60_000, 40_000, 9_000, 2_500_000_000]
    assert cpu_series.woken is not None
    assert cpu_series.woken.pid.tolist() == [302, 301, 301, 302]
    assert cpu_series.watched_ns == SECOND
    # When each was switched to is its latency already.
    assert cpu_series.stages is None
    assert cpu_series.of_thread(302).latency_ns.tolist() == [60_000, 2_500_000_000]


def test_what_the_probe_dropped_is_a_gap_in_the_numbers(tmp_path: Path) -> None:
    messages = [*block(WAKEUPS[:2]), *block(WAKEUPS[2:3], first=5)]
    manifest = finish(app_journal(tmp_path / "r", *messages, seen=3, dropped=4))
    (account,) = manifest.cpus
    assert (account.expected, account.seen, account.overrun, account.dropped) == (7, 3, 0, 4)
    assert not problems(manifest)
    summary = summarize(open_recording(tmp_path / "r").samples, manifest, "r")
    assert summary.trust.verdict == "no verdict"
    assert "4 of 7 activations were dropped" in summary.trust.reasons[0]
    assert "interval" not in summary.trust.reasons[0]


@pytest.mark.parametrize("lost", [Samples, SampleThreads])
def test_a_block_that_lost_a_part_is_missing_in_the_account(tmp_path: Path, lost: type) -> None:
    part = [message for message in block(WAKEUPS[:2]) if not isinstance(message, lost)]
    messages = [*part, *block(WAKEUPS[2:], first=2)]
    manifest = finish(app_journal(tmp_path / "r", *messages, seen=4))
    (account,) = manifest.cpus
    assert (account.expected, account.seen, account.dropped) == (4, 2, 2)


def test_without_its_stages_a_block_is_kept(tmp_path: Path) -> None:
    samples, _, threads = block(WAKEUPS)
    manifest = finish(app_journal(tmp_path / "r", samples, threads, seen=4))
    assert manifest.cpus[0].seen == 4
    rows = pq.read_table(tmp_path / "r" / "samples.parquet").to_pylist()
    assert {row["waking_ns"] for row in rows} == {None}
    assert not problems(manifest)


def test_rows_that_the_probe_did_not_count_void_the_run(tmp_path: Path) -> None:
    manifest = finish(app_journal(tmp_path / "r", *block(WAKEUPS), seen=3))
    assert "the sample accounting does not close" in problems(manifest)
    manifest = finish(app_journal(tmp_path / "s", *block(WAKEUPS), seen=3, dropped=1))
    assert "the sample accounting does not close" in problems(manifest)


def test_a_block_that_comes_twice_is_refused(tmp_path: Path) -> None:
    manifest = finish(app_journal(tmp_path / "r", *block(WAKEUPS), *block(WAKEUPS), seen=4))
    assert manifest.cpus[0].seen == 4
    assert "1 blocks of samples of CPU 0 contradict others" in problems(manifest)


def test_a_program_that_ended_by_itself_ends_the_run_as_planned(tmp_path: Path) -> None:
    journal = app_journal(
        tmp_path / "r", *block(WAKEUPS), AppEnded(7, 0), seen=4, end_ns=SECOND // 2
    )
    manifest = finish(journal)
    assert manifest.app_end is not None
    assert (manifest.app_end.status, manifest.app_end.signal) == (7, 0)
    assert not problems(manifest)
    assert "ended by itself, with status 7" in manifest.problems[0].text
    assert manifest.state == "complete"


def test_a_run_that_is_shorter_without_a_reason_was_not_planned(tmp_path: Path) -> None:
    manifest = finish(app_journal(tmp_path / "r", *block(WAKEUPS), seen=4, end_ns=SECOND // 2))
    assert "CPU 0 only until" in problems(manifest)


def test_a_killed_run_is_recovered_as_far_as_it_is_known(tmp_path: Path) -> None:
    app_journal(tmp_path / "r", *block(WAKEUPS), *block(WAKEUPS, first=4)[:2], seen=0, ended=False)
    recording = open_recording(tmp_path / "r")
    (account,) = recording.manifest.cpus
    assert recording.manifest.state == "recovered"
    assert (account.expected, account.seen, account.dropped) == (4, 4, 0)
    assert account.end_ns == START + 3_500_000 + 2_500_000_000
    assert len(recording.samples[0].latency_ns) == 4


def test_without_a_recorder_nothing_can_be_believed(tmp_path: Path) -> None:
    note = Note("no-recorder", "the kernel has no BTF")
    journal = app_journal(tmp_path / "r", *block(WAKEUPS), note, seen=4, recorder=None)
    manifest = finish(journal)
    summary = summarize(open_recording(tmp_path / "r").samples, manifest, "r")
    assert summary.trust.verdict == "no verdict"
    assert "only it sees a program's wakeups: the kernel has no BTF" in summary.trust.reasons[0]


def test_cpus_on_which_nothing_woke_are_no_fault(tmp_path: Path) -> None:
    manifest = finish(app_journal(tmp_path / "r", *block(WAKEUPS), seen=4, cpus=3))
    summary = summarize(open_recording(tmp_path / "r").samples, manifest, "r")
    assert summary.trust.verdict == "ok"
    assert [one.seen for one in summary.per_cpu] == [4, 0, 0]


def test_no_wakeup_at_all_is_no_verdict(tmp_path: Path) -> None:
    manifest = finish(app_journal(tmp_path / "r", seen=0))
    summary = summarize(open_recording(tmp_path / "r").samples, manifest, "r")
    assert summary.trust.reasons == [
        "No wakeup of threads named pacer was recorded: is it the right program, and did it run?"
    ]


HOSTILE = [
    SampleThreads(0, 4, 0, b"\x01\x02\x01" * 3),
    SampleThreads(0, 4, 0, b"\x00\x02\x01" * 4),
    SampleThreads(0, 4, 0, b"\x01\x02\x09" * 4),
    SampleThreads(0, 4, 0, b"\x01\x02\x00" * 4),
    SampleThreads(0, 4, 0, b"\xff\xff\xff\xff\x7f\x02\x01" * 4),
    SampleThreads(0, 4, 0, (b"\x01" + b"\xff" * 9 + b"\x01\x01") * 4),
    SampleThreads(0, 4, 0, b"\x01\x02\xff" * 4),
    SampleThreads(0, 3, 0, b"\x01\x02\x01" * 3),
    SampleThreads(0, 4, 9, b"\x01\x02\x01" * 4),
    SampleThreads(7, 4, 0, b"\x01\x02\x01" * 4),
]


@pytest.mark.parametrize("message", HOSTILE)
def test_threads_that_cannot_be_are_refused(tmp_path: Path, message: SampleThreads) -> None:
    samples, stages, _ = block(WAKEUPS)
    manifest = finish(app_journal(tmp_path / "r", samples, stages, message, seen=4))
    assert manifest.cpus[0].seen == 0
    assert "1 record of the journal was damaged" in problems(manifest)


@pytest.mark.parametrize(
    "message",
    [
        Samples(0, 4, 0, b"\x01\x02\x03"),
        Samples(0, 1, 0, b"\x02\x00\x05"),
        Samples(0, 1, (1 << 63) - 1, b"\x02"),
        SampleStages(0, 2, 0, bytes(6)),
        CpuStarted(1, 0, 0, 0, START, START + SECOND, 1_000_000),
        CpuStarted(1, 0, 0, 0, START + 1, START, 0),
        CpuStarted(1, 0, 0, 0, 1 << 63, 1 << 63, 0),
        CpuResult(0, 0, 0, 0, START, 1 << 63, 4, 0, 0),
        CpuResult(0, 0, 0, 0, START, START - 1, 4, 0, 0),
        CpuResult(0, 0, 0, 0, START, START + 1, 4, 3, 0),
        CpuResult(0, 0, 0, 0, START, START + 1, (1 << 64) - 1, 0, (1 << 64) - 1),
    ],
)
def test_what_no_probe_would_say_is_refused(tmp_path: Path, message: object) -> None:
    manifest = finish(app_journal(tmp_path / "r", *block(WAKEUPS), message, seen=4))  # type: ignore[arg-type]
    assert manifest.cpus[0].seen == 4
    assert "1 record of the journal was damaged" in problems(manifest)


def test_a_latency_that_ends_after_all_time_is_refused(tmp_path: Path) -> None:
    late = replace(WAKEUPS[0], latency_ns=(1 << 63) - START)
    manifest = finish(app_journal(tmp_path / "r", *block([late]), seen=1))
    assert manifest.cpus[0].seen == 0
    # Its stages and its thread are then of no block.
    assert "3 records of the journal were damaged" in problems(manifest)


numbers = st.integers(0, (1 << 64) - 1)
blocks = st.tuples(
    st.sampled_from([Samples, SampleStages, SampleThreads]),
    st.integers(0, 2), st.integers(0, 4), st.integers(0, 8) | numbers, st.binary(max_size=24),
)  # fmt: skip
results = st.builds(
    CpuResult, st.integers(0, 2), st.just(0), st.just(0), st.just(0), numbers, numbers,
    st.integers(0, 9) | numbers, st.integers(0, 1), st.integers(0, 9) | numbers,
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150,
          deadline=None)  # fmt: skip
@given(data=st.lists(blocks, max_size=8), result=st.none() | results)
def test_whatever_a_board_says_there_is_a_recording_that_can_be_summarised(
    tmp_path_factory: pytest.TempPathFactory,
    data: list[tuple[type, int, int, int, bytes]],
    result: CpuResult | None,
) -> None:
    directory = tmp_path_factory.mktemp("hostile") / "r"
    messages = [kind(cpu, count, first, octets) for kind, cpu, count, first, octets in data]
    messages += [result] if result is not None else []
    app_journal(directory, *block(WAKEUPS), *messages, seen=4, cpus=2)
    recording = open_recording(directory)
    summarize(recording.samples, recording.manifest, "r", ["p99<1ms", "max<1ms"])


@pytest.mark.parametrize("column", ["due_ns", "pid", "origin"])
def test_a_file_without_its_columns_is_not_read(tmp_path: Path, column: str) -> None:
    finish(app_journal(tmp_path / "r", *block(WAKEUPS), seen=4))
    path = tmp_path / "r" / "samples.parquet"
    pq.write_table(pq.read_table(path).drop_columns([column]), path)
    with pytest.raises(RecordingError, match="lacks the columns"):
        _ = open_recording(tmp_path / "r").samples
