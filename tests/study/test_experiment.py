"""Experiments: what can be switched off, and when a preventable share is believed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

import starts
from app_runs import app_manifest
from own_boards import own_boards
from whylate.causes.window.piece import Cause
from whylate.recording.manifest import Fact, Manifest
from whylate.recording.plan import FaultPlan, LoadPlan, RunPlan, Setting
from whylate.recording.workloads.activations import RecorderPlan
from whylate.recording.workloads.app import App, CommTarget
from whylate.recording.workloads.section import KernelFunction, Section
from whylate.recording.workloads.wakeup import Wakeup
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import apply_knobs
from whylate.run.resolve import resolve
from whylate.run.unattended import write_script
from whylate.study.experiment.judge import ExperimentResult, RunLate, different_facts, judged
from whylate.study.experiment.plan import Experiment, plan_experiment
from whylate.wire.codec import Message
from whylate.wire.frame import FrameDecoder
from whylate.wire.messages import LoadStart
from whylate.wire.messages import Setting as SettingCommand

LIMIT_NS = 100_000


PLAN = RunPlan(workload=Wakeup(duration_ns=10**9, interval_ns=10**6), cpus=[0])
APP = App(duration_ns=10**9, target=CommTarget("player"))
SECTION = RunPlan(
    workload=Section(duration_ns=10**9, place=KernelFunction("vfs_read"), locks=True),
    cpus=[0, 1],
    loads=[LoadPlan("code", 1), LoadPlan("fork", 2)],
)


def recorded(*, allow_idle_states: bool = False, **changed: Any) -> RunPlan:
    """Return the plan of a recording."""
    workload = msgspec.structs.replace(PLAN.workload, allow_idle_states=allow_idle_states)
    return msgspec.structs.replace(PLAN, workload=workload, **changed)


def places_in_script(plan: RunPlan, *commands: type[Message]) -> list[int]:
    """Return where in the frames for a board in virtual time the first of each command is."""
    frames = FrameDecoder().feed(bytes(write_script(resolve(plan, [0, 1]), "6.1").frames))
    kinds = [frame.kind for frame in frames]
    return [kinds.index(command.KIND) for command in commands]


def asked(of: RunPlan, what: str, target: Cause | None = None) -> Experiment:
    return plan_experiment("local", of, what, threshold_ns=LIMIT_NS, target=target)


def knobs(of: RunPlan, what: str) -> list[dict[str, str]]:
    """Return the knobs with the cause on, off, and of the placebo."""
    variants = asked(of, what).plan.variants
    assert [item.name for item in variants] == ["on", "off", "placebo"]
    return [item.knobs for item in variants]


def test_a_knob_is_switched_and_nothing_else() -> None:
    of = recorded(settings=[Setting("/proc/sys/vm/swappiness", "7")], allow_idle_states=True)
    on, off, placebo = knobs(of, "rt-runtime=-1")
    assert on == placebo == {"/proc/sys/vm/swappiness": "7", "idle-states": "allowed"}
    assert off == {**on, "rt-runtime": "-1"}


def test_a_section_is_repeated_with_and_without_a_load() -> None:
    on, off, placebo = knobs(SECTION, "code")
    assert on == placebo == {"load": "code:1"}
    assert off == {}
    plan = asked(SECTION, "code").plan
    assert plan.cpus is None
    assert plan.loads[0].loads == [LoadPlan("fork", 2)]
    section = plan.workload
    assert isinstance(section, Section)
    assert section.place == KernelFunction("vfs_read")
    assert section.recorder == RecorderPlan(threshold_ns=LIMIT_NS, tail_ppm=0, control_every=0)


def test_the_threads_of_a_section_get_a_priority() -> None:
    workload = msgspec.structs.replace(SECTION.workload, comm="player/1")
    of = msgspec.structs.replace(SECTION, workload=workload)
    on, off, placebo = knobs(of, "priority=50")
    assert (on, off, placebo) == ({}, {"priority": "50"}, {})
    plan = asked(of, "priority=50").plan
    raised = apply_knobs(plan.request, off).plan
    assert raised.settings == [Setting("priority:player/1", "50")]
    assert raised.workload == apply_knobs(plan.request, on).plan.workload
    # The loads' threads are there by then.
    raised = msgspec.structs.replace(raised, loads=plan.loads[0].loads)
    load, setting = places_in_script(raised, LoadStart, SettingCommand)
    assert load < setting
    # By its other name it is switched as well.
    recorded_so = msgspec.structs.replace(of, settings=[Setting("priority:player/1", "50")])
    assert knobs(recorded_so, "priority:player/1=60")[1] == {"priority:player/1": "60"}
    assert knobs(recorded_so, "priority=60")[1] == {"priority": "60"}
    with pytest.raises(RequestError, match="made with it off"):
        asked(recorded_so, "priority:player/1=50")
    with pytest.raises(RequestError, match="'priority:player/1' and 'priority' both set"):
        apply_knobs(plan.request, {"priority:player/1": "50", "priority": "60"})


@pytest.mark.parametrize("what", ["priority=0", "priority=100", "priority=high", "priority:=5",
                                  "priority:a\x1b[2J=5", f"priority:{'a' * 16}=5"])  # fmt: skip
def test_what_is_no_priority_of_threads_is_refused(what: str) -> None:
    workload = msgspec.structs.replace(SECTION.workload, comm="player")
    with pytest.raises(RequestError, match="knob priority"):
        asked(msgspec.structs.replace(SECTION, workload=workload), what)


def test_a_priority_for_threads_of_any_name_is_refused() -> None:
    with pytest.raises(RequestError, match="write priority:NAME = N"):
        asked(SECTION, "priority=50")


def test_a_section_of_one_process_is_not_repeated() -> None:
    workload = msgspec.structs.replace(SECTION.workload, pid=312)
    with pytest.raises(RequestError, match="--pid"):
        asked(msgspec.structs.replace(SECTION, workload=workload), "code")


def test_a_setting_of_the_recording_is_switched_by_whichever_name() -> None:
    runtime = "/proc/sys/kernel/sched_rt_runtime_us"
    of = recorded(settings=[Setting(runtime, "950000"), Setting("/proc/sys/vm/swappiness", "7")])
    on, off, _ = knobs(of, "throttling")
    assert on[runtime] == "950000"
    assert off == {
        "/proc/sys/vm/swappiness": "7",
        "idle-states": "held",
        "rt-runtime": "-1",
    }
    with pytest.raises(RequestError, match="made with it off"):
        asked(recorded(settings=[Setting(runtime, "-1")]), "throttling")


def test_an_idle_state_that_is_not_used_is_not_switched() -> None:
    with pytest.raises(RequestError, match="it would change nothing without idle-states"):
        asked(recorded(), "idle-state:2=off")
    assert knobs(recorded(allow_idle_states=True), "idle-state:2=off")[1]["idle-state:2"] == "off"


def test_a_cause_is_switched_off_by_its_knob() -> None:
    of = recorded(allow_idle_states=True)
    assert knobs(of, "idle exit")[1]["idle-states"] == "held"
    assert knobs(of, "throttling")[1]["rt-runtime"] == "-1"
    result = asked(of, "throttling")
    assert result.targets == {Cause.THROTTLING}
    assert result.plan.request.recorder == RecorderPlan(threshold_ns=LIMIT_NS)
    assert asked(of, "thp=never", Cause.PAGE_FAULT).targets == {Cause.PAGE_FAULT}
    assert not asked(of, "thp=never").targets


def test_a_load_of_the_run_is_left_out() -> None:
    of = recorded(loads=[LoadPlan("memory", 2), LoadPlan("switch", 1)])
    on, off, _ = knobs(of, "memory")
    assert on["load"] == "memory:2"
    assert "load" not in off
    plan = asked(of, "memory").plan
    assert [item.kind for item in plan.loads[0].loads] == ["switch"]


def test_a_known_cause_is_left_out_and_the_others_stay() -> None:
    task = FaultPlan("rt-task", {"period_us": 9000, "size_us": 200})
    off_ = FaultPlan("irqs-off", {"period_us": 7000, "size_us": 300})
    of = recorded(faults=[task, off_], virtual_time=True)
    on, off, _ = knobs(of, "irqs-off")
    assert on["fault"] == ("rt-task period_us=9000 size_us=200 irqs-off period_us=7000 size_us=300")
    assert off["fault"] == "rt-task period_us=9000 size_us=200"
    assert asked(of, "irqs-off").targets == {Cause.INTERRUPTS_DISABLED, Cause.PREEMPTION_DISABLED}
    assert "fault" not in knobs(recorded(faults=[task], virtual_time=True), "rt-task")[1]


def test_a_spin_is_bounded_by_the_fault_with_a_limit_on_as_many_cpus_as_it_takes() -> None:
    lock = FaultPlan("lock-held", {"size_us": 400})
    of = recorded(faults=[lock], virtual_time=True)
    on, off, placebo = knobs(of, "fault=lock-held size_us=400 spin_limit=100")
    assert on["fault"] == placebo["fault"] == "lock-held size_us=400"
    assert off["fault"] == "lock-held size_us=400 spin_limit=100"
    # Another one keeps the lock.
    assert asked(of, "fault=lock-held size_us=400 spin_limit=100").plan.smp == 2
    task = FaultPlan("rt-task", {"period_us": 9000})
    assert asked(recorded(faults=[task], virtual_time=True), "rt-task").plan.smp == 1


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("steal", "the host causes it"),
        ("lock", "try another kernel"),
        ("interrupt", "irq:N=CPUS"),
        ("unexplained", "nothing is known to switch off"),
        ("gremlins", "invalid value, expected one of knobs"),
        ("idle exit", "made with it off"),
        ("no-such-knob=1", "unknown knob"),
        ("cmdline:nosmt=yes", "would have to boot"),
    ],
)
def test_what_cannot_be_switched_off_is_refused_with_a_reason(what: str, words: str) -> None:
    with pytest.raises(RequestError, match=words):
        asked(recorded(allow_idle_states=False), what)


def test_what_the_runs_have_otherwise_than_the_recording_is_named() -> None:
    def of(*words: str) -> Manifest:
        facts = [Fact("kernel_release", "6.1", ""), Fact("kernel_command_line", [*words], "")]
        return msgspec.structs.replace(app_manifest([]), facts=facts)

    assert different_facts(of("quiet"), of("quiet")) == []
    assert different_facts(of("quiet", "nohz_full=1"), of("quiet")) == ["kernel_command_line"]


def test_a_watched_program_is_not_repeated() -> None:
    with pytest.raises(RequestError, match="not a program"):
        asked(msgspec.structs.replace(PLAN, workload=APP), "thp=never")


def runs(excess: Sequence[float], causes: Mapping[Cause, float]) -> list[RunLate]:
    """Return runs of which each cause has so large a part of the late time."""
    return [
        RunLate(item, 50, {cause: part * item for cause, part in causes.items()}, None)
        for item in excess
    ]


ON = {Cause.THREAD: 0.6, Cause.SOFTIRQ: 0.4}
EXCESS = (100.0, 110.0, 90.0, 105.0, 95.0, 100.0)
NOTHING = ExperimentResult("", LIMIT_NS, 6, None, None, None, None, None, None, [], None, None)


def judge(
    off: Sequence[RunLate], placebo: Sequence[float] = (101.0, 108.0, 93.0, 103.0, 97.0, 98.0)
) -> ExperimentResult:
    return judged(NOTHING, runs(EXCESS, ON), off, runs(placebo, ON), frozenset({Cause.THREAD}))


def test_a_share_is_believed_where_the_cause_fell_and_the_placebo_did_nothing() -> None:
    result = judge(runs([0.4 * item for item in EXCESS[::-1]], {Cause.SOFTIRQ: 1.0}))
    assert result.why_not is None
    assert result.preventable is not None
    assert result.preventable.low is not None
    assert result.preventable.high is not None
    assert result.preventable.low < 0.6 < result.preventable.high
    assert result.fell
    assert result.off_target == []


def test_a_share_is_not_believed_where_the_causes_own_time_stayed() -> None:
    result = judge(runs([0.4 * item for item in EXCESS], {Cause.THREAD: 1.5, Cause.SOFTIRQ: -0.5}))
    assert result.preventable is None
    assert result.fell is False
    assert "manipulation check" in (result.why_not or "")


def test_a_share_is_not_believed_where_the_placebo_prevents_something() -> None:
    off = runs([0.4 * item for item in EXCESS[::-1]], {Cause.SOFTIRQ: 1.0})
    result = judge(off, placebo=[0.7 * item for item in EXCESS])
    assert result.preventable is None
    assert "placebo" in (result.why_not or "")


def test_what_else_changed_is_told() -> None:
    result = judge(runs([0.2 * item for item in EXCESS], {Cause.SOFTIRQ: 1.0}))
    assert [item.cause for item in result.off_target] == ["softirq"]
    assert result.preventable is not None


def test_nothing_late_has_no_preventable_share() -> None:
    quiet = runs([0.0] * 6, {})
    result = judged(NOTHING, quiet, quiet, quiet, frozenset())
    assert "nothing was late" in (result.why_not or "")


@pytest.mark.realtime
def test_what_cannot_be_asked_is_one_line(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "whylate"]
    recording = str(tmp_path / "r")
    starts.run(
        [*run, "measure", "local", "--for", "1s", "--interval", "500us", "-o", recording],
        capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    for words, message in (
        (["--experiment", "steal"], "no knob switches 'steal' off: the host causes it"),
        (["--experiment", "throttling", "--rounds", "2"], "--rounds must lie between 4 and 1000"),
        (["--experiment", "throttling", "--target", "x"], "--target 'x': invalid value"),
        (["--experiment", "throttling", "--worst", "3"], "not for an --experiment"),
        (["--rounds", "7"], "are for an --experiment"),
    ):
        done = starts.run(
            [*run, "explain", recording, *words], capture_output=True, text=True, timeout=60,
            check=False, cwd=tmp_path,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (2, ""), words
        assert message in done.stderr
    assert not (tmp_path / "experiments").exists()


@pytest.mark.qemu
def test_on_a_board_a_known_cause_is_found_to_be_the_reason(tmp_path: Path) -> None:
    with own_boards("virt-arm64"):
        run = [sys.executable, "-m", "whylate"]
        starts.run(
            [*run, "measure", "virt-arm64", "--virtual-time", "--smp", "1", "--for", "500ms",
             "--interval", "500us", "--fault", "rt-task size_us=300 period_us=10000",
             "-o", str(tmp_path / "r")],
            capture_output=True, timeout=240, check=True,
        )  # fmt: skip

        # Said, for the rank of so short a run is one activation's, wherever its phase put it.
        def experiment(rounds: int, timeout: float) -> subprocess.CompletedProcess[str]:
            return starts.run(
                [*run, "explain", str(tmp_path / "r"), "--threshold", "100us", "--json",
                 "--rounds", str(rounds), "-o", str(tmp_path / f"e{rounds}"),
                 "--experiment", "rt-task"],
                capture_output=True, text=True, timeout=timeout, check=False,
            )  # fmt: skip

        # One placebo in twenty has a share by chance, the same one each time: these runs repeat.
        rounds, done = 4, experiment(4, 600)
        if done.returncode == 3 and "the placebo" in json.loads(done.stdout)["why_not"]:
            rounds, done = 12, experiment(12, 900)
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert result["why_not"] is None
        assert result["preventable"]["share"] > 0.95
        assert result["preventable"]["low"] > 0.5
        assert result["placebo"]["low"] < 0 < result["placebo"]["high"]
        assert result["fell"]
        assert result["target"]["off_ns_per_s"] == pytest.approx(0, abs=1000)
        assert result["located"]["share"] > 0.8
        # The same again has nothing left to make.
        assert json.loads(experiment(rounds, 60).stdout) == result
