from typing import Any

import msgspec
import pytest
from summary_examples import cpu, latencies, manifest

from whylate.recording.manifest import Change, Fact, Problem
from whylate.stats.run.drift import Trend
from whylate.summary.cautions import cautions, drift

SAMPLES = [cpu(0, latencies(1_000, 1)), cpu(1, latencies(1_000, 2))]


def _found(samples: Any = SAMPLES, **parts: Any) -> Any:
    return {one.code: one.text for one in cautions(manifest(samples, **parts), [], [0, 1])}


def _tasks(*tasks: Any) -> Any:
    return _found(facts=[Fact("rt_tasks", list(tasks), "/proc")]).get("rt-tasks", "")


def test_a_quiet_run_has_no_warning() -> None:
    assert _found() == {}


def test_steal_is_told_with_its_amount_in_either_unit() -> None:
    changes = [
        Change("steal", 0, 0.25, "s", "/proc/stat"),
        Change("steal", 1, 5e8, "ns", "/proc/stat"),
        Change("steal", 7, 9.0, "s", "/proc/stat"),
    ]
    text = _found(changes=changes)["steal"]
    assert "took 750 ms from the measured CPUs" in text
    assert "CPU 1" in text


def test_a_guest_without_steal_is_told_that_it_can_not_know() -> None:
    assert "KVM" in _found(facts=[Fact("hypervisor", "KVM", "cpuid")])["guest"]
    assert "guest" not in _found(facts=[Fact("hypervisor", None, "cpuid")])


def test_a_guest_with_steal_gets_one_warning() -> None:
    found = _found(
        facts=[Fact("hypervisor", "KVM", "cpuid")], changes=[Change("steal", 0, 1.0, "s", "x")]
    )
    assert set(found) == {"steal"}


@pytest.mark.parametrize(("host_cpus", "told"), [(None, False), (2, False), (1, True)])
def test_cpus_that_take_turns_on_fewer_of_a_host_are_told(
    host_cpus: int | None, told: bool
) -> None:
    whole = manifest(SAMPLES)
    plan = msgspec.structs.replace(whole.plan, host_cpus=host_cpus)
    found = cautions(msgspec.structs.replace(whole, plan=plan), [], [0, 1])
    assert [one.code for one in found] == (["crowded-host"] if told else [])


@pytest.mark.parametrize(
    "task", ["irq/24-eth0 fifo 80 pid 12", "a b rr 99 pid 1", "x deadline pid 3"]
)
def test_a_task_at_or_above_the_probes_priority_is_named(task: str) -> None:
    assert task in _tasks(task)


@pytest.mark.parametrize(
    "task",
    [
        "irq/24-eth0 fifo 50 pid 123",
        "migration/3 fifo 99 pid 20",
        "whylate-probe fifo 80 pid 9",
        "evil fifo 99 pid 1 fifo 10 pid 2",
        "… 12 more",
        "",
    ],
)
def test_a_task_that_can_not_preempt_the_probe_is_not_named(task: str) -> None:
    assert _tasks(task) == ""


def test_many_rivals_are_counted() -> None:
    assert "and 2 more" in _tasks(*[f"t{n} fifo 90 pid {n}" for n in range(5)])


def test_firmware_and_heat_are_told() -> None:
    changes = [
        Change("smi", 0, 3, "interrupts", "msr"),
        Change("smi", 1, 3, "interrupts", "msr"),
        Change("thermal_throttle", 0, 2, "events", "sysfs"),
    ]
    found = _found(changes=changes)
    assert found["smi"].startswith("3 system management")
    assert "2 times" in found["thermal-throttle"]


def test_overruns_and_mild_problems_are_told() -> None:
    found = _found(
        [cpu(0, latencies(1_000), overrun=[5, 6])],
        state="interrupted",
        problems=[Problem("slow-line", "The line was slow.", False), Problem("z", "Bad.", True)],
    )
    assert "2 overruns" in found["overruns"]
    assert found["slow-line"] == "The line was slow."
    assert "z" not in found


def test_an_interval_shorter_than_the_clocks_resolution_is_told() -> None:
    found = _found(clock_resolution_ns=4_000_000)
    assert "shorter than the clock's resolution of 4 ms" in found["interval"]
    assert "coarse-clock" in _found(clock_resolution_ns=100_000)
    assert _found(clock_resolution_ns=None) == {}


def test_drift_is_told_once_a_statistic_with_the_cpu_that_moved_most() -> None:
    moved = [
        Trend("p50", 0, 5_000.0, 400.0, 1e-9),
        Trend("p50", 1, 5_000.0, 900.0, 1e-9),
        Trend("p99", 0, 9_000.0, 400.0, 0.2),
        Trend("late", None, 4.0, -3.0, 1e-9),
    ]
    texts = [one.text for one in drift(moved, [4, 5])]
    assert len(texts) == 2
    assert texts[0].startswith("The p50 of CPU 5 rose by 900 ns, 18% of its level (so did 1 other")
    assert texts[1].startswith("Late activations fell in number by 75%")


def test_a_certain_but_tiny_drift_is_not_told() -> None:
    assert drift([Trend("p50", 0, 5_000.0, 50.0, 1e-12)], [0]) == []
