"""Whether a run was made with its knobs, as its recording tells."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from whylate.recording.manifest import Fact, Manifest, ProbeReport, Problem, RecorderReport
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.knobs.apply import apply_knobs
from whylate.study.knobs_in_effect import missing_knob

REQUEST = RunPlan(
    workload=Wakeup(duration_ns=0, interval_ns=0, priority=80, recorder=RecorderPlan())
)
ON, OFF = {"cmdline:threadirqs": "yes"}, {"cmdline:threadirqs": "no"}
HELD, ALLOWED = {"idle-states": "held"}, {"idle-states": "allowed"}
NOT_HELD = Problem("idle-states", "/dev/cpu_dma_latency could not be held at 0: no", fatal=False)


def manifest(
    *words: str, problems: list[Problem] | None = None, recorder: RecorderReport | None = None
) -> Manifest:
    return Manifest(
        format="whylate-recording", schema_version=6, state="complete", created="", whylate="0",
        board="pc", clock="CLOCK_MONOTONIC",
        plan=RunPlan(workload=Wakeup(duration_ns=1, interval_ns=1, priority=80), cpus=[0]),
        cpus=[], loads=[], facts=[Fact("kernel_command_line", list(words), "")], changes=[],
        probe=ProbeReport("0", "x86_64", "", None, None, None, None, 0, 0, 0, 0),
        problems=problems or [], recorder=recorder,
    )  # fmt: skip


def recorder(engine: str | None, refused: str | None = None) -> RecorderReport:
    return RecorderReport(engine, refused, 0, [], 0, 0, 0, 0, None, None)


def why(run: Manifest, knobs: Mapping[str, str], *rest: Mapping[str, str]) -> str | None:
    """Say which knob a run was made without, in a study of these variants."""
    variants = [apply_knobs(REQUEST, item) for item in (knobs, *rest)]
    return missing_knob(variants[0], run, variants)


def test_a_word_stands_where_it_was_asked_for() -> None:
    assert why(manifest("quiet", "threadirqs"), ON, OFF) is None
    assert "threadirqs is not on the kernel's" in (why(manifest("quiet"), ON, OFF) or "")


@pytest.mark.parametrize("word", ["threadirqs", "threadirqs=no", "threadirqs=1"])
def test_a_word_that_is_to_be_left_out_is_on_no_line(word: str) -> None:
    assert why(manifest("quiet", "nothreadirqs"), OFF, ON) is None
    assert "threadirqs is on the kernel's command line" in (why(manifest(word), OFF, ON) or "")
    assert "could not be read" in (why(manifest(), OFF, ON) or "")


def test_a_word_of_another_variant_is_on_no_line_but_its_own() -> None:
    item, two = {"cmdline:nohz_full": "1"}, {"cmdline:nohz_full": "2", "cmdline:quiet": "yes"}
    assert why(manifest("nohz_full=1"), item, two) is None
    assert "quiet of another variant" in (why(manifest("nohz_full=1", "quiet"), item, two) or "")
    assert "nohz_full=2 of another" in (why(manifest("nohz_full=2"), {}, item, two) or "")
    # What all ask for is nobody's alone, and what nobody asks for is nobody's business.
    assert (
        why(manifest("quiet", "nohz_full=1", "ro"), {**item, "cmdline:quiet": "yes"}, two) is None
    )


def test_the_boards_own_word_may_be_that_of_another_variant_if_the_wanted_one_follows() -> None:
    item, two = {"cmdline:nohz-full": "1"}, {"cmdline:nohz-full": "2"}
    assert why(manifest("nohz-full=2", "nohz-full=1"), item, two) is None
    assert "nohz-full=2 of another" in (
        why(manifest("nohz-full=1", "nohz-full=2"), item, two) or ""
    )
    assert "nohz-full=2 of another" in (why(manifest("nohz-full=2", "ro"), {}, item, two) or "")


def test_a_recorder_that_is_compared_is_there() -> None:
    bpf = manifest(recorder=recorder("bpf"))
    refused = manifest(recorder=recorder(None, "the kernel allows none."))
    assert why(bpf, {"recorder": "on"}) is None
    message = "knob recorder: there was none (the kernel allows none)"
    assert why(refused, {"recorder": "on"}) == message
    assert why(refused, {}, {"recorder": "off"}) == message
    assert why(manifest(), {"recorder": "off"}, {}) is None
    # Where it is compared by nobody a run may do without it.
    assert why(refused, {}, {"priority": "3"}) is None


def test_idle_states_that_are_compared_were_held() -> None:
    run = manifest(problems=[NOT_HELD])
    assert why(run, HELD, ALLOWED) == f"knob idle-states: {NOT_HELD.text}"
    assert why(run, {}, ALLOWED) == f"knob idle-states: {NOT_HELD.text}"
    assert why(run, ALLOWED, HELD) is None
    assert why(run, {}, {"priority": "3"}) is None
    assert why(manifest(), HELD, ALLOWED) is None


def test_what_something_else_set_meanwhile_was_not_set() -> None:
    problem = Problem("leaving", "/proc/x was set to 1 and reads 2 after the run", fatal=True)
    assert why(manifest(problems=[problem]), {}) == problem.text
