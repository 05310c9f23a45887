"""What can be recorded of a section's executions, and what is refused before a board is asked."""

from __future__ import annotations

import re

import pytest

from c_programs import ROOT
from whylate.cli.section import plan_recorder
from whylate.recording.plan import RunPlan
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.section import Section
from whylate.run.errors import RequestError
from whylate.run.measure import recorder_commands
from whylate.run.workloads.section import (
    _OWN,
    _OWN_READS,
    SectionRules,
    check_place,
    parse_place,
)

PLAN = RecorderPlan(tail_ppm=0, control_every=0)


def check(place: str, recorder: RecorderPlan | None = PLAN) -> None:
    workload = Section(duration_ns=10**9, place=parse_place(place), recorder=recorder)
    SectionRules().check(RunPlan(workload=workload))


@pytest.mark.parametrize("place", ["a:b..a:c by cpu", "a:b..a:c by rq"])
def test_executions_that_no_thread_takes_along_are_not_recorded(place: str) -> None:
    with pytest.raises(RequestError, match="--recorder follows the thread"):
        check(place)
    check(place, None)
    check(place.partition(" ")[0])


@pytest.mark.parametrize(
    "name",
    [
        "bpf_prog_run", "__bpf_trace_run", "ktime_get_mono_fast_ns", "trace_call_bpf",
        "copy_from_kernel_nofault", "get_perf_callchain", "perf_callchain_kernel",
        "arch_stack_walk", "unwind_next_frame",
    ],
)  # fmt: skip
def test_code_that_the_recorder_and_the_hooks_run_is_refused(name: str) -> None:
    with pytest.raises(RequestError, match="it cannot be timed itself"):
        parse_place(name)
    check_place(parse_place(f"my_{name}"))


def test_the_probe_has_the_same_names_for_addresses() -> None:
    """It looks up what function an address lies in."""
    source = (ROOT / "probe/src/workloads/section_own.c").read_text()
    names = re.findall(r'"([^"]+)",', source.partition("own[] = {")[2].partition("}")[0])
    patterns = "|".join(pattern.pattern for pattern in (_OWN, _OWN_READS))
    both = "copy_from_kernel_nofault|copy_from_user_nofault"
    patterns = patterns.replace("copy_from_(kernel|user)_nofault", both)
    assert sorted(names) == sorted(patterns.split("|"))


def test_how_many_are_recorded_is_left_to_the_probe() -> None:
    assert plan_recorder(None, None) is None
    for plan in (plan_recorder("bpf", None), plan_recorder(None, 50_000)):
        assert plan is not None
        (command,) = recorder_commands(plan)
        assert getattr(command, "tail_ppm", None) == 0
        assert getattr(command, "control_every", None) == 0
    timed = plan_recorder(None, 50_000)
    assert timed is not None
    assert (timed.engine, timed.threshold_ns) == ("best", 50_000)


def test_a_section_is_not_ended_at_a_late_execution() -> None:
    with pytest.raises(RequestError, match="neither stopped nor detached"):
        check("do_nanosleep", RecorderPlan(stop_above_ns=10**6))
