"""Where the tracefs engine says that the time of a CPU went, and the stages of a wakeup.

The events are written down here, one a line, as they come from one CPU after the other.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tracefs_builds import build_driver

pytestmark = pytest.mark.machine

#: The measured threads of CPU 0 and CPU 1, and others.
ME, YOU, OTHER, SOFTIRQ_THREAD = 100, 200, 300, 400
RUNNABLE, SLEEPS = 0x80, 1
IRQ, SOFTIRQ, NMI, IDLE, THREAD = range(5)


@dataclass(frozen=True)
class Stage:
    switched_ns: int
    waking_ns: int
    timer_ns: int
    sums: tuple[int, ...]


Run = Callable[[list[str]], dict[int, list[Stage]]]


def event(cpu: int, at: int, kind: int, runs: int, *, c: int = 0, d: int = 0, **more: int) -> str:
    return f"event {cpu} {at} {kind} {more.get('a', 0)} {c} {d} {more.get('e', 0)} {runs}"


def switch(cpu: int, at: int, before: int, after: int, state: int = SLEEPS) -> str:
    return event(cpu, at, 12, before, c=before, d=after, a=state)


def waking(cpu: int, at: int, runs: int, pid: int) -> str:
    return event(cpu, at, 11, runs, c=pid)


def vector(cpu: int, entered: int, left: int, runs: int, *between: str) -> list[str]:
    return [event(cpu, entered, 3, runs), *between, event(cpu, left, 4, runs)]


def softirq(cpu: int, entered: int, left: int, runs: int, *between: str) -> list[str]:
    return [event(cpu, entered, 6, runs), *between, event(cpu, left, 7, runs)]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    driver = build_driver("stages_driver", tmp_path_factory.mktemp("stages"), sanitized=True)

    def of(lines: list[str]) -> dict[int, list[Stage]]:
        if not any(line.startswith("publish") for line in lines):
            lines = [*lines, "publish 1000000"]
        command = [str(driver), str(ME), str(YOU)]
        done = subprocess.run(
            command, check=True, capture_output=True, text=True, input="\n".join(lines), timeout=30
        )
        stages: dict[int, list[Stage]] = {0: [], 1: []}
        for line in done.stdout.splitlines():
            what, *words = line.split()
            if what == "stage":
                cpu, switched, woken, timer, *sums = map(int, words)
                stages[cpu].append(Stage(switched, woken, timer, tuple(sums)))
        return stages

    return of


def test_a_wakeup_in_an_interrupt_has_all_three_stages(run: Run) -> None:
    lines = [*vector(0, 100, 130, 0, waking(0, 120, 0, ME)), switch(0, 150, 0, ME)]
    (stage,) = run(lines)[0]
    assert (stage.timer_ns, stage.waking_ns, stage.switched_ns) == (100, 120, 150)
    assert stage.sums[IRQ] == 30
    assert stage.sums[IDLE] == 20


def test_a_wakeup_by_a_thread_has_no_timer(run: Run) -> None:
    before = vector(0, 50, 60, OTHER)
    (stage,) = run([*before, waking(0, 120, OTHER, ME), switch(0, 150, OTHER, ME)])[0]
    assert (stage.timer_ns, stage.waking_ns) == (0, 120)


def test_time_goes_to_the_innermost_of_what_is_open(run: Run) -> None:
    nmi = event(0, 170, 8, OTHER, e=10)
    lines = [switch(0, 100, 0, OTHER)]
    lines += softirq(0, 110, 200, OTHER, *vector(0, 150, 180, OTHER, nmi))
    (stage,) = run([*lines, switch(0, 230, OTHER, ME)])[0]
    assert stage.sums[THREAD] == 10 + 30
    assert stage.sums[SOFTIRQ] == 40 + 20
    assert stage.sums[IRQ] == 30 - 10
    assert stage.sums[NMI] == 10


def test_the_measured_thread_is_in_no_sum_but_what_interrupts_it_is(run: Run) -> None:
    lines = [switch(0, 100, 0, ME), *vector(0, 150, 160, ME)]
    lines += [switch(0, 200, ME, 0), switch(0, 250, 0, ME)]
    first, second = run(lines)[0]
    assert sum(first.sums) == 0
    assert second.sums[IRQ] == 10
    assert second.sums[IDLE] == 50
    assert sum(second.sums) == 60


def test_a_thread_that_preempts_a_softirq_is_not_in_it(run: Run) -> None:
    """With PREEMPT_RT softirqs run in threads, and such a thread may be preempted."""
    lines = [switch(0, 100, 0, SOFTIRQ_THREAD), event(0, 110, 6, SOFTIRQ_THREAD)]
    lines += [
        switch(0, 120, SOFTIRQ_THREAD, OTHER, RUNNABLE),
        switch(0, 170, OTHER, SOFTIRQ_THREAD),
    ]
    lines += [event(0, 190, 7, SOFTIRQ_THREAD), switch(0, 195, SOFTIRQ_THREAD, ME)]
    (stage,) = run(lines)[0]
    assert stage.sums[SOFTIRQ] == 10 + 20
    assert stage.sums[THREAD] == 10 + 50 + 5


def test_a_waking_on_another_cpu_counts_though_it_is_read_later(run: Run) -> None:
    lines = [switch(0, 150, 0, ME), *vector(1, 100, 130, 0, waking(1, 120, 0, ME))]
    (stage,) = run(lines)[0]
    assert (stage.timer_ns, stage.waking_ns) == (100, 120)


def test_wakings_of_two_cpus_are_distinguished_by_their_time(run: Run) -> None:
    lines = [waking(0, 300, 0, ME), switch(0, 350, 0, ME)]
    lines = [switch(0, 150, 0, ME), switch(0, 200, ME, 0), *lines]
    (first, second) = run([*lines, waking(1, 120, 0, ME), waking(1, 280, 0, ME)])[0]
    assert first.waking_ns == 120
    assert second.waking_ns == 300


def test_a_stage_waits_until_all_cpus_were_read_that_far(run: Run) -> None:
    lines = [switch(0, 150, 0, ME), switch(0, 200, ME, 0), switch(0, 350, 0, ME)]
    assert len(run([*lines, "publish 300"])[0]) == 1
    late = [*lines, "publish 300", waking(1, 320, 0, ME), "publish 400"]
    assert [stage.waking_ns for stage in run(late)[0]] == [0, 320]


def test_a_thread_that_was_preempted_was_not_woken_for_its_return(run: Run) -> None:
    lines = [switch(0, 100, 0, ME), waking(0, 110, ME, ME), switch(0, 120, ME, OTHER, RUNNABLE)]
    _, second = run([*lines, switch(0, 150, OTHER, ME)])[0]
    assert second.waking_ns == 0


def test_a_sleeper_may_be_woken_before_it_has_left(run: Run) -> None:
    lines = [switch(0, 100, 0, ME), switch(0, 120, ME, OTHER, SLEEPS), switch(0, 150, OTHER, ME)]
    _, second = run([*lines, waking(1, 115, 0, ME)])[0]
    assert second.waking_ns == 115


def test_time_in_which_events_were_lost_is_in_no_sum(run: Run) -> None:
    lines = [switch(0, 100, 0, OTHER), event(0, 150, 3, OTHER), "lost 0"]
    (stage,) = run([*lines, event(0, 900, 16, OTHER), switch(0, 950, OTHER, ME)])[0]
    assert stage.sums[THREAD] == 50 + 50
    assert sum(stage.sums) == 100


def test_time_of_a_thread_whose_switch_was_lost_is_in_no_sum(run: Run) -> None:
    lines = [switch(0, 100, ME, 0), *vector(0, 200, 210, 0)]
    (stage,) = run([*lines, switch(0, 300, OTHER, ME)])[0]
    assert stage.sums[IDLE] == 100
    assert stage.sums[IRQ] == 10
    assert stage.sums[THREAD] == 0
