"""Recordings of interrupts disabled: all stretches are kept, and what fits no plan is refused."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from benchmark_journals import benchmark_journal
from off_journals import (
    FAULT,
    LOCK,
    PERIOD_NS,
    STRETCHES,
    bins_of,
    off_messages,
    off_plan,
    stretch_block,
    traced_messages,
)

from whylate.recording.errors import RecordingError
from whylate.recording.reader import open_recording
from whylate.recording.store.stretches import NAME, read_stretches, write_stretches
from whylate.recording.stretches import STRETCH_COLUMNS, Stretches, bin_stretches
from whylate.recording.workloads.benchmarks.registry import repetition_assembler
from whylate.wire.codec import WireError
from whylate.wire.constants import OffClass
from whylate.wire.messages import Message, OffBins, OffCpu, OffGroup, OffLongest, OffRepetition


def test_all_that_was_sent_is_kept(tmp_path: Path) -> None:
    directory = benchmark_journal(tmp_path / "r", off_plan(), *off_messages())
    recording = open_recording(directory)
    assert recording.manifest.problems == []
    off = recording.manifest.turns[0].off
    assert off is not None
    assert [cpu.cpu for cpu in off.cpus] == [0, 3]
    assert [group.why for group in off.groups] == ["unknown", "disabled", "disabled"]
    assert off.groups[1].callers == list(FAULT)
    assert [stretch.comm for stretch in off.longest] == ["irqs_off", "other"]
    assert recording.repetitions.column("disabled").tolist() == [3, 7, 0, 0]
    rows = read_stretches(directory, turns=1).columns
    assert [rows[name].tolist() for name in STRETCH_COLUMNS[1:]] == [
        list(column) for column in zip(*STRETCHES, strict=True)
    ]


def test_stretches_of_a_period_and_more_are_in_bins_as_long_as_they_were_seen(
    tmp_path: Path,
) -> None:
    directory = benchmark_journal(tmp_path / "r", off_plan(), *off_messages())
    off = open_recording(directory).manifest.turns[0].off
    assert off is not None
    counts = {(bin_.low_ns, bin_.high_ns): bin_.count for bin_ in off.bins if bin_.count}
    assert counts == {(100_000, 141_421): 1, (200_000, 282_843): 1}
    assert off.bins[0].low_ns == PERIOD_NS


def test_stretches_between_tracepoints_are_all_in_bins_with_both_their_ends(
    tmp_path: Path,
) -> None:
    directory = benchmark_journal(tmp_path / "r", off_plan(), *traced_messages())
    recording = open_recording(directory)
    off = recording.manifest.turns[0].off
    assert off is not None
    assert off.method == "tracepoints"
    assert [(bin_.low_ns, bin_.high_ns, bin_.count) for bin_ in off.bins] == [
        (16, 32, 900), (1024, 2048, 100), (131_072, 262_144, 1),
    ]  # fmt: skip
    assert off.groups[2].began == list(LOCK)
    assert recording.repetitions.column("disabled").sum() == 378_000


@pytest.mark.parametrize("changed", [[bins_of(3, [(112, 1)])], []], ids=["fewer", "none"])
def test_bins_that_have_other_than_all_stretches_are_a_problem(
    tmp_path: Path, changed: list[Message]
) -> None:
    messages = traced_messages()
    assert (
        open_recording(
            benchmark_journal(tmp_path / "whole", off_plan(), *messages)
        ).manifest.problems
        == []
    )
    place = max(at for at, message in enumerate(messages) if isinstance(message, OffBins))
    messages[place : place + 1] = changed
    directory = benchmark_journal(tmp_path / "r", off_plan(), *messages)
    (problem,) = open_recording(directory).manifest.problems
    assert "in 1 of 1 turns bins have other than all stretches" in problem.text


def test_every_stretch_is_in_one_bin() -> None:
    seen_ns = np.array([0, 49_999, 50_000, 70_710, 70_711, 10**12, 10**15])
    bins = bin_stretches(seen_ns, PERIOD_NS)
    assert sum(bin_.count for bin_ in bins) == 5
    assert all(a.high_ns == b.low_ns for a, b in pairwise(bins))
    assert bins[-1].low_ns > 10**13
    assert bin_stretches(np.array([], np.int64), PERIOD_NS) == []


GROUP = OffGroup(0, 0, OffClass.DISABLED, 1, 0, 1, 0, 0, (), ())


@pytest.mark.parametrize(
    "messages",
    [
        # A CPU that is not of the plan, or twice.
        [OffCpu(0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0)],
        [OffCpu(0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0)] * 2,
        # A group out of its order; one of the longest of no group.
        [OffGroup(0, 1, OffClass.DISABLED, 1, 0, 1, 0, 0, (), ())],
        [OffLongest(0, 1, 0, 1, "a", 1, 1, 0, 0, ())],
        [GROUP, *[OffLongest(0, 1, 0, 1, "a", 1, 1, 0, 0, ())] * 65],
        # Figures that nothing has.
        [OffGroup(0, 0, OffClass.DISABLED, 1, 0, 1, (1 << 63) + 1, 0, (), ())],
        [OffRepetition(0, 0, 0, 0, 1, 1, 1 << 63, 0, 0, 0)],
        # Bins of a CPU twice, of a CPU that is not of the plan, or of fewer than none.
        [bins_of(0, [(16, 1)])] * 2,
        [bins_of(1, [(16, 1)])],
        [bins_of(0, [(16, 0)])],
        # Stretches that came before, are less than said, or cannot have been.
        [stretch_block(STRETCHES), stretch_block(STRETCHES)],
        [stretch_block(STRETCHES, first=1)],
        [stretch_block(((-5, 1, 1, 0, 1, 0),))],
        # A turn, a repetition and a place that were not planned.
        [stretch_block(STRETCHES, turn=1)],
        [OffRepetition(0, 2, 0, 0, 1, 1, 0, 0, 0, 0)],
        [OffRepetition(0, 0, 2, 0, 1, 1, 0, 0, 0, 0)],
    ],
)  # fmt: skip
def test_what_fits_no_plan_is_refused(messages: list[Message]) -> None:
    assembler = repetition_assembler(off_plan())
    for message in messages[:-1]:
        assembler.add(message)
    with pytest.raises(WireError):
        assembler.add(messages[-1])


def test_control_characters_of_a_board_are_not_kept(tmp_path: Path) -> None:
    group = OffGroup(0, 0, OffClass.DISABLED, 1, 0, 1, 0, 0, ("a\x1b[2Jb" + "c" * 500,), ("\x1bd",))
    longest = OffLongest(0, 1, 0, 1, "\x1b]0;x\x07y", 1, 1, 0, 0, ())
    directory = benchmark_journal(tmp_path / "r", off_plan(), group, longest)
    off = open_recording(directory).manifest.turns[0].off
    assert off is not None
    texts = [*off.groups[0].callers, *off.groups[0].began, off.longest[0].comm]
    assert all("\x1b" not in text and len(text) <= 140 for text in texts)


@pytest.mark.parametrize(
    ("where", "changes"), [("longest", {"group": 3}), ("groups", {"group": 7})]
)
def test_a_manifest_with_a_stretch_of_no_group_is_refused(
    tmp_path: Path, where: str, changes: dict[str, int]
) -> None:
    directory = benchmark_journal(tmp_path / "r", off_plan(), *off_messages())
    open_recording(directory)
    path = directory / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["turns"][0]["off"][where][0].update(changes)
    path.write_text(json.dumps(manifest))
    with pytest.raises(RecordingError):
        open_recording(directory)


def test_a_damaged_file_of_stretches_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="has no"):
        read_stretches(tmp_path, turns=1)
    columns = {name: np.array([-1], np.int64) for name in STRETCH_COLUMNS}
    write_stretches(tmp_path, Stretches(columns))
    with pytest.raises(RecordingError, match="impossible"):
        read_stretches(tmp_path, turns=1)
    (tmp_path / NAME).write_bytes(b"PAR1")
    with pytest.raises(RecordingError, match="not a file of stretches"):
        read_stretches(tmp_path, turns=1)
