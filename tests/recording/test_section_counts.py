"""What was counted of executions goes beside them, and a block of either alone is no execution."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from section_count_journals import counts, executions, section_journal

from whylate.recording.finish import finish
from whylate.recording.manifest import Manifest
from whylate.recording.reader import open_recording
from whylate.recording.sections import CountAccount
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.section import KernelFunction, Section
from whylate.summary.summarize import summarize
from whylate.wire.executions import NO_COUNT
from whylate.wire.messages import ExecutionCounts, FloorCounts, Message, SectionStarted

EVENTS = ("cycles", "instructions:k")
DURATIONS = [1_000, 1_010, 5_000]
ROWS = [(0, 900, 70, 0, 0), (2, 0, 0, 0, 0), (0, 4_800, 75, 0, 0)]


def recorded(directory: Path, *messages: Message, counters: tuple[str, ...] = EVENTS) -> Manifest:
    return finish(section_journal(directory, DURATIONS, *messages, counters=counters))


def test_each_event_has_a_column_that_is_null_where_nothing_was_counted(tmp_path: Path) -> None:
    manifest = recorded(tmp_path / "r", executions(DURATIONS), counts(ROWS))
    table = pq.read_table(tmp_path / "r" / "samples.parquet")
    assert table["count_cycles"].to_pylist() == [900, None, 4_800]
    assert table["count_instructions:k"].to_pylist() == [70, None, 75]
    assert table["latency_ns"].to_pylist() == DURATIONS
    assert manifest.section is not None
    assert manifest.section.counts == CountAccount(own=2, refused=0, shared=1)
    assert manifest.problems == []


def test_what_was_counted_is_read_with_the_executions(tmp_path: Path) -> None:
    recorded(tmp_path / "r", executions(DURATIONS), counts(ROWS))
    file = open_recording(tmp_path / "r").executions
    assert file is not None
    longer, others, count = file.split(2_000, 1)
    assert longer.counts.tolist() == [[4_800, 75]]
    assert others.counts.tolist() == [[900, 70], [NO_COUNT, NO_COUNT]]
    assert count == 2


def test_a_recording_without_counters_has_no_such_column(tmp_path: Path) -> None:
    manifest = recorded(tmp_path / "r", executions(DURATIONS), counters=())
    names = pq.read_schema(tmp_path / "r" / "samples.parquet").names
    assert not [name for name in names if name.startswith("count_")]
    assert manifest.section is not None
    assert manifest.section.counts is None
    recording = open_recording(tmp_path / "r")
    summary = summarize(recording.series, recording.manifest, "r", executions=recording.executions)
    assert summary.section is not None
    assert summary.section.counters is None


@pytest.mark.parametrize(
    "block",
    [
        counts(ROWS, first=1),
        counts(ROWS[:2]),
        counts([*ROWS[:2], (7, 0, 0, 0, 0)]),
        counts([*ROWS[:2], (0, 1, 2, 3, 0)]),
        ExecutionCounts(3, 3, 0, counts(ROWS).data),
        ExecutionCounts(0, 3, 0, b"\xff" * 20),
    ],
    ids=["other numbers", "too few", "state", "event", "other CPU", "no numbers"],
)
def test_executions_whose_counts_cannot_be_count_as_dropped(
    tmp_path: Path, block: ExecutionCounts
) -> None:
    manifest = recorded(tmp_path / "r", executions(DURATIONS), block)
    assert pq.read_table(tmp_path / "r" / "samples.parquet").num_rows == 0
    assert (manifest.cpus[0].seen, manifest.cpus[0].dropped) == (0, 3)
    assert manifest.section is not None
    assert manifest.section.counts == CountAccount()


def test_counts_come_once_for_each_block(tmp_path: Path) -> None:
    manifest = recorded(
        tmp_path / "r", counts(ROWS), executions(DURATIONS), counts(ROWS), counts(ROWS)
    )
    assert (manifest.cpus[0].seen, manifest.cpus[0].dropped) == (3, 0)
    assert manifest.section is not None
    assert manifest.section.counts == CountAccount(own=2, shared=1)
    assert any("2 " in problem.text for problem in manifest.problems)


def test_counts_that_were_not_asked_for_change_nothing(tmp_path: Path) -> None:
    manifest = recorded(tmp_path / "r", executions(DURATIONS), counts(ROWS), counters=())
    assert (manifest.cpus[0].seen, manifest.cpus[0].dropped) == (3, 0)
    assert manifest.section is not None
    assert manifest.section.counts is None


def test_what_the_hooks_count_is_known_where_an_empty_section_was_counted(tmp_path: Path) -> None:
    many, same = [1_000] * 30, [(0, 900, 70, 0, 0)] * 30
    blocks = FloorCounts(2_000, (370, 18)), executions(many), counts(same)
    manifest = finish(section_journal(tmp_path / "r", many, *blocks, counters=EVENTS))
    assert manifest.section is not None
    assert manifest.section.hook_counts == [370, 18]
    recording = open_recording(tmp_path / "r")
    summary = summarize(recording.series, manifest, "r", executions=recording.executions)
    assert summary.section is not None
    assert summary.section.counters is not None
    assert summary.section.counters.hooks == {"cycles": 370, "instructions:k": 18}


@pytest.mark.parametrize(("parts", "is_warned"), [(15, False), (13, True)])
def test_where_no_switch_was_observed_a_warning_says_whose_counts_they_may_be(
    tmp_path: Path, parts: int, is_warned: bool
) -> None:
    many, same = [1_000] * 30, [(0, 900, 70, 0, 0)] * 30
    started = SectionStarted(2, 1, parts, 100_000_000, 7)
    manifest = finish(
        section_journal(
            tmp_path / "r", many, executions(many), counts(same), counters=EVENTS, started=started
        )
    )
    recording = open_recording(tmp_path / "r")
    summary = summarize(recording.series, manifest, "r", executions=recording.executions)
    assert is_warned == any("No switch of threads" in note.text for note in summary.warnings)


@pytest.mark.parametrize("values", [(370,), (370, 18, 1), ()])
def test_an_empty_section_has_a_count_of_each_event_or_none(
    tmp_path: Path, values: tuple[int, ...]
) -> None:
    manifest = recorded(tmp_path / "r", FloorCounts(2_000, values))
    assert manifest.section is not None
    assert manifest.section.hook_counts == []
    assert any("1 " in problem.text for problem in manifest.problems)


@pytest.mark.parametrize("names", [["cycles", "cycles"], [""], ["x" * 81]])
def test_events_that_make_no_columns_are_no_plan(names: list[str]) -> None:
    with pytest.raises(ValueError, match="names of their own"):
        Section(
            duration_ns=1,
            place=KernelFunction("f"),
            counters=[CounterPlan(name) for name in names],
        )
