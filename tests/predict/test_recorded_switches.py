"""`whylate predict asid RECORDING`: the traces of a benchmark's turns, by point."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmark_journals import benchmark_journal, plan_of
from click.testing import CliRunner
from msgspec.structs import replace
from test_switch_traces import flush, switch, unpack

from whylate.cli import whylate
from whylate.predict.address_ids import predict_recorded
from whylate.recording.errors import LackingError
from whylate.recording.reader import Recording, open_recording
from whylate.recording.workloads import Benchmark
from whylate.recording.workloads.switch import SwitchPoint
from whylate.wire.messages import Message, SwitchRepetition, SwitchTrace

PLAN: Benchmark = replace(plan_of([SwitchPoint(2), SwitchPoint(7)]), record=True)


def recording(directory: Path, traces: dict[int, bytes]) -> Recording:
    """Return the recording of two rounds of two points, with these traces."""
    messages: list[Message] = [
        SwitchRepetition(turn, repetition, 1000, 400, 100, 90)
        for turn in range(4)
        for repetition in range(2)
    ]
    for turn, text in traces.items():
        messages += [SwitchTrace(turn, 0, text[at : at + 3000]) for at in range(0, len(text), 3000)]
    return open_recording(benchmark_journal(directory, PLAN, *messages))


def lines(name: str) -> bytes:
    """Return a trace of test_switch_traces, cut to what a turn keeps."""
    text = b"".join(line for line in unpack(name).splitlines(True) if not line.startswith(b"#"))
    return text[: text.rindex(b"\n", 0, 1_000_000) + 1] if len(text) > 1_000_000 else text


def test_turns_of_a_point_are_summed_and_points_are_apart(tmp_path: Path) -> None:
    seven, two = lines("tasks-7"), switch(1, 1, 2) + flush(2, 1, -1) + switch(3, 2, 1)
    made = predict_recorded(
        recording(tmp_path / "r", {0: two, 1: seven, 2: two, 3: seven}), [6, 8], ["in-turn"]
    )
    few, many = made.points
    assert (few.trace, few.turns, many.trace, many.turns) == ("2 tasks", 2, "7 tasks", 2)
    alone = predict_recorded(recording(tmp_path / "s", {1: seven}), [6, 8], ["in-turn"]).points[0]
    assert many.check is not None
    assert alone.check is not None
    assert many.check.counted == 2 * alone.check.counted > 1000
    assert many.switches == 2 * alone.switches
    assert [policy.flushes for policy in many.policies] == [
        2 * policy.flushes for policy in alone.policies
    ]
    assert many.check.off is not None
    assert abs(many.check.off) < 0.1
    assert few.check is not None
    assert few.check.counted == 2


def test_the_verb_reads_a_recording(tmp_path: Path) -> None:
    made = recording(tmp_path / "r", {1: lines("tasks-7")})
    done = CliRunner().invoke(whylate, ["predict", "asid", str(made.directory), "--ids", "6"])
    assert done.exit_code == 0, done.output
    assert "7 tasks, 1 turn" in done.output
    assert "counted" in done.output
    arguments = ["predict", "asid", str(made.directory), "--json"]
    document = json.loads(CliRunner().invoke(whylate, arguments).stdout)
    assert document["format"] == "whylate-address-ids"
    assert document["points"][0]["trace"] == "7 tasks"
    assert document["points"][0]["check"]["counted"] > 500


def test_a_recording_without_traces_is_lacking_them(tmp_path: Path) -> None:
    with pytest.raises(LackingError, match="empty trace"):
        predict_recorded(recording(tmp_path / "r", {}), [6], ["in-turn"])
