"""Traces of switches: what a probe sends is kept by turn, bounded, and checked when it is read."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmark_journals import benchmark_journal, plan_of
from msgspec.structs import replace

from whylate.recording.errors import LackingError, RecordingError
from whylate.recording.reader import open_recording
from whylate.recording.store.switch_traces import NAME, read_switch_traces
from whylate.recording.workloads import Benchmark
from whylate.recording.workloads.switch import SwitchPoint
from whylate.wire.constants import MOST_TRACE_BYTES
from whylate.wire.messages import FlushReasons, Message, SwitchRepetition, SwitchTrace

PLAIN = plan_of([SwitchPoint(2), SwitchPoint(7)], rounds=1)
TRACED: Benchmark = replace(PLAIN, record=True)
ROWS: list[Message] = [
    SwitchRepetition(turn, repetition, 1000, 400, 100, 90)
    for turn in range(2)
    for repetition in range(2)
]


def codes(directory: Path) -> list[str]:
    return [problem.code for problem in open_recording(directory).manifest.problems]


def test_a_trace_is_kept_by_turn_with_its_pieces_in_order(tmp_path: Path) -> None:
    pieces = [
        SwitchTrace(1, 0, b"first\n"),
        SwitchTrace(0, 0, b"x\n"),
        SwitchTrace(1, 0, b"next\n"),
    ]
    recording = open_recording(benchmark_journal(tmp_path / "r", TRACED, *ROWS, *pieces))
    assert read_switch_traces(recording.directory, 2) == {0: b"x\n", 1: b"first\nnext\n"}
    assert [report.trace_bytes for report in recording.manifest.turns] == [2, 11]
    assert not recording.manifest.problems


def test_why_a_turn_has_no_trace_is_kept(tmp_path: Path) -> None:
    recording = open_recording(
        benchmark_journal(tmp_path / "r", TRACED, *ROWS, SwitchTrace(0, 13, b""))
    )
    assert recording.manifest.turns[0].trace_error == 13
    assert read_switch_traces(recording.directory, 2)[0] == b""


def test_a_thread_cannot_be_called_like_the_beginning_of_a_turn(tmp_path: Path) -> None:
    hostile = SwitchTrace(0, 0, b"a\n# turn 1\nb\r# turn 1\n")
    recording = open_recording(benchmark_journal(tmp_path / "r", TRACED, *ROWS, hostile))
    assert read_switch_traces(recording.directory, 2) == {0: b"a\nb\r# turn 1\n"}


@pytest.mark.parametrize(
    ("plan", "messages"),
    [
        (PLAIN, [SwitchTrace(0, 0, b"x\n")]),
        (TRACED, [SwitchTrace(5, 0, b"x\n")]),
        (TRACED, [SwitchTrace(0, 0, bytes(4000))] * (MOST_TRACE_BYTES // 4000 + 1)),
        (PLAIN, [FlushReasons(0, (1, 2), 0)]),
        (PLAIN, [FlushReasons(0, (1 << 62,) * 6, 0)]),
    ],
    ids=["not asked for", "no turn", "too much", "other reasons", "too many"],
)
def test_what_cannot_be_of_the_plan_is_damage(
    tmp_path: Path, plan: Benchmark, messages: list[Message]
) -> None:
    assert "journal" in codes(benchmark_journal(tmp_path / "r", plan, *ROWS, *messages))


def test_flushes_are_kept_by_reason(tmp_path: Path) -> None:
    reasons = FlushReasons(0, (470, 3, 0, 0, 2, 0), 0)
    recording = open_recording(benchmark_journal(tmp_path / "r", PLAIN, *ROWS, reasons))
    kept = recording.manifest.turns[0].flush_reasons
    assert kept is not None
    assert kept.counts == [470, 3, 0, 0, 2, 0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"x\n# turn 0\n", "does not begin with a turn"),
        (b"# turn 2\nx\n", "not planned"),
        (b"# turn 0\n# turn 0\n", "comes twice"),
        (bytes(2 * (MOST_TRACE_BYTES + 64) + 1), "too large"),
    ],
    ids=["no turn", "beyond the plan", "twice", "large"],
)
def test_a_damaged_file_is_refused(tmp_path: Path, text: bytes, why: str) -> None:
    (tmp_path / NAME).write_bytes(text)
    with pytest.raises(RecordingError, match=why):
        read_switch_traces(tmp_path, 2)


def test_a_recording_without_a_trace_is_lacking_it(tmp_path: Path) -> None:
    with pytest.raises(LackingError, match="--record"):
        read_switch_traces(tmp_path, 2)
