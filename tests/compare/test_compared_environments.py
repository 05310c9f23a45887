"""What both sides ran on is compared at every comparison."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from made_recordings import recording

from compare_sides import arm
from whylate.compare.environment import CLOCK, COMMAND_LINE, KERNEL, TEMPERATURE
from whylate.compare.judge import compare
from whylate.compare.model import Comparison, Question
from whylate.compare.run_environment import Environment, read_environment
from whylate.compare.runs import Arm, describe_run
from whylate.recording.manifest import DetachedReport, Fact, RecorderReport
from whylate.recording.reader import open_recording

HERE = Environment(1000.0, 50.0, "6.1", ["quiet", "nohz=on"])


def side(name: str, *environments: Environment | None, factor: float = 1.0) -> Arm:
    made = arm(name, 10, factor)
    runs = [
        replace(run, environment=environments[n % len(environments)])
        for n, run in enumerate(made.runs)
    ]
    return Arm(name, tuple(runs))


def judged(second: Environment, first: Environment = HERE, *studied: str) -> Comparison:
    return compare(side("a", first), side("b", second, factor=0.7), Question(studied=studied))


def differing(comparison: Comparison) -> set[str]:
    return {row.name for row in comparison.environment if row.differs}


def test_the_same_environment_has_nothing_to_say() -> None:
    comparison = judged(HERE)
    assert [row.differs for row in comparison.environment] == [False] * 4
    assert "CPU clock" not in comparison.why
    assert not any("kernel" in text for text in comparison.cautions)


@pytest.mark.parametrize(
    ("mhz", "warned"), [(1009, False), (1011, True), (991, False), (989, True)]
)
def test_a_clock_that_differs_by_more_than_1_percent_is_in_the_verdict(
    mhz: float, warned: bool
) -> None:
    comparison = judged(Environment(mhz, 50.0, "6.1", HERE.command_line))
    assert comparison.verdict == "better"
    assert (f"CPU clock: 1,000 MHz in A and {mhz:,.0f} MHz in B" in comparison.why) == warned
    assert differing(comparison) == ({CLOCK} if warned else set())


def test_clocks_of_runs_that_overlap_are_said_to_do_so() -> None:
    def clocks(name: str, *mhz: float) -> Arm:
        return side(name, *(Environment(value, 50.0, "6.1", HERE.command_line) for value in mhz))

    apart = compare(clocks("a", 1000.0, 1002.0), clocks("b", 1030.0), Question())
    assert (
        "CPU clock: 1,001 MHz (1,000 MHz … 1,002 MHz) in A and 1,030 MHz in B (+2.90 %): that"
        in (apart.why)
    )
    busy = compare(clocks("a", 1000.0), clocks("b", 980.0, 1000.0, 980.0), Question())
    assert "(−2.00 %), where single runs overlap" in busy.why


def test_what_else_differs_is_a_caution() -> None:
    comparison = judged(Environment(1000.0, 61.0, "6.6", ["quiet", "nohz=off", "x"]))
    assert differing(comparison) == {TEMPERATURE, KERNEL, COMMAND_LINE}
    assert comparison.cautions[:3] == [
        "temperature: 50.0 °C in A and 61.0 °C in B",
        "kernel release: 6.1 in A and 6.6 in B",
        "kernel command line: nohz=on in A alone; nohz=off x in B alone",
    ]


def test_what_is_studied_is_no_warning() -> None:
    other = Environment(1200.0, 50.0, "6.6", HERE.command_line)
    comparison = judged(other, HERE, CLOCK, KERNEL)
    assert differing(comparison) == {CLOCK, KERNEL}
    assert "CPU clock" not in comparison.why
    assert not any("kernel release" in text for text in comparison.cautions)


def test_what_is_not_known_of_one_side_is_not_called_the_same() -> None:
    comparison = judged(Environment(kernel="6.1"))
    known = {row.name: row.differs for row in comparison.environment}
    assert known == {CLOCK: None, TEMPERATURE: None, KERNEL: False, COMMAND_LINE: None}


def test_a_kernel_that_changes_within_a_side_is_reported() -> None:
    mixed = Environment(1000.0, 50.0, "6.6", HERE.command_line)
    comparison = compare(side("a", HERE, mixed), side("b", HERE, mixed), Question())
    assert "kernel release differs within each side: 6.1 / 6.6" in comparison.cautions


def test_one_run_with_another_clock_does_not_move_the_typical_one() -> None:
    odd = Environment(500.0, 50.0, "6.1", HERE.command_line)
    comparison = compare(side("a", HERE), side("b", HERE, HERE, HERE, odd), Question())
    assert not differing(comparison)


def test_runs_without_facts_have_no_environment() -> None:
    assert compare(arm("a", 10), arm("b", 10), Question()).environment == []


def test_the_clock_is_that_of_the_measured_cpus() -> None:
    facts = [
        Fact(
            "cpu_frequency_measured", ["cpu 0: 800 MHz", "cpu 1: 1000 MHz", "cpu 2: 1200 MHz"], ""
        ),
        Fact("temperatures", ["cpu-thermal: 48.2 °C", "gpu: 51.0 °C"], ""),
        Fact("kernel_release", "6.1", ""),
    ]
    assert read_environment(facts, [2]) == Environment(1200.0, 51.0, "6.1", None)
    assert read_environment(facts, []).clock_mhz == 1000.0


@pytest.mark.parametrize("value", ["fast", ["cpu x: y MHz"], None, 4, True, ["a: 9999.9 °C"]])
def test_garbled_facts_are_not_known(value: str | list[str] | int | None) -> None:
    names = ("cpu_frequency_measured", "temperatures", "kernel_command_line")
    environment = read_environment([Fact(name, value, "") for name in names], [0])
    assert (environment.clock_mhz, environment.temperature_c) == (None, None)


def test_a_recorder_that_was_detached_on_one_side_alone_is_reported(tmp_path: Path) -> None:
    directory = recording(tmp_path / "a", np.arange(1_000, 1_100))
    manifest = open_recording(directory).manifest
    stayed = RecorderReport("bpf", None, 4096, [], 0, 0, 0, 0, None, None)
    detached = msgspec.structs.replace(stayed, detached=[DetachedReport(0, 1, 2, 3, 0, 0)])
    ours, theirs = (
        describe_run(directory, msgspec.structs.replace(manifest, recorder=report)).beside
        for report in (stayed, detached)
    )
    first, second = side("a", None), side("b", None)
    found = compare(
        Arm("a", tuple(replace(run, beside=ours) for run in first.runs)),
        Arm("b", tuple(replace(run, beside=theirs) for run in second.runs)),
        Question(),
    )
    assert "recorder is bpf in a and bpf, detached for parts of the run in b" in found.cautions
