"""Recordings of benchmarks: what a probe sends is kept whole, and what fits no plan is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from benchmark_journals import benchmark_journal, plan_of
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from whylate.recording.errors import LackingError, RecordingError
from whylate.recording.reader import open_recording
from whylate.recording.store.repetitions import NAME
from whylate.recording.workloads import Benchmark
from whylate.recording.workloads.benchmarks import CounterPlan, with_counter_name
from whylate.recording.workloads.benchmarks.command import value_in
from whylate.recording.workloads.benchmarks.registry import repetition_assembler
from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.command import CommandPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.switch import SwitchPoint
from whylate.wire.messages import (
    BenchFailed,
    ClockProperties,
    ClockRepetition,
    CommandOutput,
    CommandRepetition,
    MemoryBacking,
    MemoryRepetition,
    Message,
    RepetitionCounts,
    SwitchFlushes,
    SwitchRepetition,
)

RINGS = plan_of([SwitchPoint(2), SwitchPoint(7)])
COMMAND = plan_of([CommandPoint(("true",), value=r"took ([\d.]+)")], rounds=2, repetitions=1)


def rows_of(plan: Benchmark, skip: tuple[int, int] | None = None) -> list[Message]:
    """Return all repetitions of rings, each with figures of its own."""
    return [
        SwitchRepetition(trial, repetition, 1000 + 10 * trial + repetition, 400, 100, 90)
        for trial in range(len(plan.order))
        for repetition in range(plan.repetitions)
        if (trial, repetition) != skip
    ]


def test_every_repetition_is_kept_with_its_point_and_its_place(tmp_path: Path) -> None:
    directory = benchmark_journal(tmp_path / "r", RINGS, *reversed(rows_of(RINGS)))
    recording = open_recording(directory)
    rows = recording.repetitions
    assert rows.n == 8
    assert rows.column("turn").tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert rows.column("point").tolist() == [0, 0, 1, 1, 0, 0, 1, 1]
    assert rows.column("repetition").tolist() == [0, 1] * 4
    assert rows.column("ring_ns").tolist() == [1000, 1001, 1010, 1011, 1020, 1021, 1030, 1031]
    assert recording.manifest.state == "complete"
    assert not [one for one in recording.manifest.problems if one.fatal]
    assert not (directory / "samples.parquet").exists()
    # A second opening reads what the first one wrote.
    assert (
        open_recording(directory).repetitions.column("ring_ns").tolist()
        == rows.column("ring_ns").tolist()
    )


def test_a_benchmark_has_no_latencies(tmp_path: Path) -> None:
    recording = open_recording(benchmark_journal(tmp_path / "r", RINGS, *rows_of(RINGS)))
    with pytest.raises(LackingError, match="no latencies"):
        recording.samples  # noqa: B018 (reading it is the test)


def test_a_killed_run_keeps_what_was_measured_and_has_no_verdict(tmp_path: Path) -> None:
    directory = benchmark_journal(tmp_path / "r", RINGS, *rows_of(RINGS)[:5], ended=False)
    recording = open_recording(directory)
    assert recording.manifest.state == "recovered"
    assert recording.repetitions.n == 5
    assert "recovered" in [one.code for one in recording.manifest.problems if one.fatal]


def test_a_lost_repetition_leaves_the_sample_accounting_open(tmp_path: Path) -> None:
    directory = benchmark_journal(tmp_path / "r", RINGS, *rows_of(RINGS, skip=(1, 0)))
    problems = open_recording(directory).manifest.problems
    assert [one.code for one in problems if one.fatal] == ["account"]
    assert "1 of 4 turns" in problems[0].text


def test_a_point_that_cannot_be_had_is_excused_and_its_reason_kept(tmp_path: Path) -> None:
    told = [
        one for one in rows_of(RINGS) if isinstance(one, SwitchRepetition) and one.turn in (0, 2)
    ]
    directory = benchmark_journal(
        tmp_path / "r", RINGS, *told, BenchFailed(1, 11, "only 3 of 7\x1b[31m tasks")
    )
    manifest = open_recording(directory).manifest
    assert not [one for one in manifest.problems if one.fatal]
    assert [(one.turn, bool(one.error)) for one in manifest.turns] == [
        (0, False), (1, True), (2, False),
    ]  # fmt: skip
    assert "\x1b" not in manifest.turns[1].error


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("counter 2 was not counted all the time: why", "r60:u was not counted all the time: why"),
        ("counter 3 was not counted", "counter 3 was not counted"),
        ("counter 0 was not counted", "counter 0 was not counted"),
        ("encounter 1 of them", "encounter 1 of them"),
    ],
)
def test_a_counter_is_reported_by_its_name(text: str, told: str) -> None:
    counters = [CounterPlan("cycles", 0, 0), CounterPlan("r60:u", 4, 0x60, 1)]
    assert with_counter_name(text, counters) == told
    plan = replace(RINGS, counters=counters)
    assembler = repetition_assembler(plan)
    assembler.add(BenchFailed(1, 16, text))
    assert assembler.reports()[0].error == told


HOSTILE: list[Message] = [
    SwitchRepetition(4, 0, 1, 1, 1, 1),  # a turn beyond the plan
    SwitchRepetition(0, 2, 1, 1, 1, 1),  # a repetition beyond it
    SwitchRepetition(0, 0, 1, 1, 1, 1),  # told before
    SwitchRepetition(1, 0, 1 << 63, 1, 1, 1),  # no int64
    MemoryRepetition(0, 0, 1, 1),  # another workload
    RepetitionCounts(0, 0, (1, 2)),  # counters that nobody asked for
    SwitchFlushes(0, 1, 1, 1 << 62, 0),
    ClockRepetition(0, 0, 0, 0, 1, 1, 1, 1, 1),
    CommandRepetition(0, 1, 1, 1, 1, 0, 0),
    BenchFailed(99, 1, "x"),
]


@pytest.mark.parametrize("message", HOSTILE, ids=lambda one: type(one).__name__)
def test_what_cannot_be_of_the_plan_is_damage(tmp_path: Path, message: Message) -> None:
    # The whole run first: what comes on top of it is too much.
    directory = benchmark_journal(tmp_path / "r", RINGS, *rows_of(RINGS), message)
    recording = open_recording(directory)
    assert recording.repetitions.n == 8
    assert "journal" in [one.code for one in recording.manifest.problems if one.fatal]


def test_repetitions_of_a_wakeup_run_are_damage(tmp_path: Path) -> None:
    from journals import journal, samples

    directory = journal(tmp_path / "r", samples(), SwitchRepetition(0, 0, 1, 1, 1, 1))
    manifest = open_recording(directory).manifest
    assert "journal" in [one.code for one in manifest.problems]


def test_counts_stand_beside_their_repetitions(tmp_path: Path) -> None:
    plan = plan_of([SwitchPoint(2)], rounds=1, counters=[CounterPlan("cycles", 0, 0)])
    counts = [RepetitionCounts(0, 1, (70,)), RepetitionCounts(0, 0, (60,))]
    directory = benchmark_journal(tmp_path / "r", plan, *rows_of(plan), *counts)
    recording = open_recording(directory)
    assert recording.repetitions.counts["cycles"].tolist() == [60, 70]
    assert not recording.manifest.problems
    lacking = benchmark_journal(tmp_path / "s", plan, *rows_of(plan), counts[0])
    assert "have no counts" in open_recording(lacking).manifest.problems[0].text


def test_memory_keeps_what_stood_behind_both_buffers_before_and_after(tmp_path: Path) -> None:
    plan = plan_of([MemoryPoint("copy", 8192)], rounds=1, repetitions=1)
    told = [
        MemoryRepetition(0, 0, 5, 1),
        MemoryBacking(0, 0, 0, 2, 2, 1, 0, 0, 0),
        MemoryBacking(0, 0, 1, 2, 2, 2, 0, 0, 0),
        MemoryBacking(0, 1, 0, 2, 2, 0, 0, 0, 1),
    ]
    report = open_recording(benchmark_journal(tmp_path / "r", plan, *told)).manifest.turns[0]
    assert report.before is not None
    assert report.after is not None
    assert report.before.source is not None
    assert report.before.target is not None
    assert (report.before.source.frames, report.before.target.frames) == (1, 2)
    assert report.after.source is not None
    assert report.after.source.frames is None  # the kernel did not show them
    assert report.after.target is None


def test_a_clock_has_a_row_for_each_thread(tmp_path: Path) -> None:
    plan = plan_of([ClockPoint("monotonic", 2)], rounds=1, repetitions=1)
    told = [
        ClockProperties(0, 0, 1),
        *(ClockRepetition(0, 0, n, n, 100, 5, 7, 0, 0) for n in (1, 0)),
    ]
    recording = open_recording(benchmark_journal(tmp_path / "r", plan, *told))
    assert recording.repetitions.column("thread").tolist() == [0, 1]
    nature = recording.manifest.turns[0].nature
    assert nature is not None
    assert nature.system_call is False


def test_the_number_is_found_in_what_a_command_wrote_which_is_not_kept(tmp_path: Path) -> None:
    told = [
        CommandOutput(0, 0, b"password=hunter2\ntook 1"),
        CommandOutput(0, 0, b"2.5 ms\n"),
        CommandRepetition(0, 10, 1, 1, 1, 0, 0),
        CommandOutput(1, 1, b"nothing of the kind"),
        CommandRepetition(1, 10, 1, 1, 1, 0, 0),
    ]
    directory = benchmark_journal(tmp_path / "r", COMMAND, *told)
    recording = open_recording(directory)
    value = recording.repetitions.value
    assert value is not None
    assert value[0] == 12.5
    assert np.isnan(value[1])
    assert [one.output_cut for one in recording.manifest.turns] == [False, True]
    for path in directory.rglob("*"):
        assert b"hunter2" not in path.read_bytes()


def test_more_output_than_a_probe_keeps_is_damage(tmp_path: Path) -> None:
    much = [CommandOutput(0, 0, bytes(4000)) for _ in range(17)]
    directory = benchmark_journal(
        tmp_path / "r", COMMAND, *much, CommandRepetition(0, 1, 1, 1, 1, 0, 0)
    )
    assert "journal" in [one.code for one in open_recording(directory).manifest.problems]


@pytest.mark.parametrize(
    ("text", "expression", "found"),
    [
        ("12 ops\n15 ops\n", r"(\d+) ops", 15.0),
        ("rate: 1,234.5/s", r"rate: (\S+)", 1234.5),
        ("-3e-2", r".+", -0.03),
        ("no number", r"n(.)", None),
        ("x 5", r"y (\d)", None),
        ("1e999", r"(.+)", None),
        ("a\nb 7\n", r"^b (\d)$", 7.0),
        # A comma is a decimal point to some, and between the members of a list to others.
        ("took 3,14 s", r"took (\S+)", None),
        ("took 0,123 s", r"took (\S+)", None),
        ("1,2,3", r".+", None),
        ("1.234,56", r".+", None),
        ("12,345,678", r".+", 12345678.0),
        ("1.2.3", r".+", None),
    ],
)
def test_value_in(text: str, expression: str, found: float | None) -> None:
    assert value_in(text, expression) == found


@given(st.text(max_size=200))
def test_any_output_gives_a_finite_number_or_none(text: str) -> None:
    found = value_in(text, r"(\S+)")
    assert found is None or np.isfinite(found)


def test_a_damaged_file_of_repetitions_is_refused(tmp_path: Path) -> None:
    directory = benchmark_journal(tmp_path / "r", RINGS, *rows_of(RINGS))
    open_recording(directory)
    (directory / NAME).write_bytes(b"PAR1 no")
    with pytest.raises(RecordingError, match="is not a file of repetitions"):
        open_recording(directory).repetitions  # noqa: B018
    (directory / NAME).unlink()
    with pytest.raises(RecordingError, match="incomplete"):
        open_recording(directory).repetitions  # noqa: B018


@pytest.mark.parametrize(
    "change", [b'"order":[7]', b'"points":[]'], ids=["a point beyond", "no point"]
)
def test_a_manifest_with_a_plan_that_contradicts_itself_is_refused(
    tmp_path: Path, change: bytes
) -> None:
    import json

    directory = benchmark_journal(tmp_path / "r", RINGS, *rows_of(RINGS))
    open_recording(directory)
    path = directory / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["plan"]["workload"] |= json.loads(b"{" + change + b"}")
    path.write_text(json.dumps(manifest))
    with pytest.raises(RecordingError, match="not a manifest"):
        open_recording(directory)
