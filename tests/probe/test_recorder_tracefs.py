"""The tracefs engine of the flight recorder, on this machine's own kernel.

A driver (probe/tests/tracefs_driver.c) records one thread on each CPU that sleeps to deadlines.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pytest
from tracefs_builds import build_driver

from processes import descendants_of, lives

pytestmark = [
    pytest.mark.machine,
    pytest.mark.realtime,
    pytest.mark.skipif(os.geteuid() != 0, reason="tracing needs root"),
]

IRQ_ENTRY, IRQ_EXIT, VECTOR_ENTRY, VECTOR_EXIT = 1, 2, 3, 4
SOFTIRQ_ENTRY, SOFTIRQ_EXIT, TIMER_ENTRY, TIMER_EXIT, SWITCH = 6, 7, 9, 10, 12
SUMS_OF_WALL_TIME = 5  # irq, softirq, nmi, idle, threads; steal is part of the others
#: This machine may be as busy as it likes between two looks.
RING_BYTES = 64 << 20
TRIES = 4


@dataclass(frozen=True)
class Event:
    time_ns: int
    seq: int
    kind: int
    a: int
    c: int
    d: int
    f: int


@dataclass(frozen=True)
class Stage:
    switched_ns: int
    waking_ns: int
    timer_ns: int
    sums: tuple[int, ...]


@dataclass
class Recorded:
    """What the driver printed, by CPU."""

    threads: dict[int, int] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)
    events: dict[int, list[Event]] = field(default_factory=dict)
    stages: dict[int, list[Stage]] = field(default_factory=dict)
    missed: dict[int, int] = field(default_factory=dict)
    cost: tuple[int, ...] = ()
    gather: tuple[int, ...] = ()
    gaps: int = 0


def parse(text: str) -> Recorded:
    result = Recorded()
    for line in text.splitlines():
        what, *words = line.split()
        if what == "source":
            result.sources[words[0]] = int(words[1])
            continue
        if what == "event":
            at, cpu, seq, kind, a, _, c, d = (int(word) for word in words[:8])
            event = Event(at, seq, kind, a, c, d, int(words[9], 16))
            result.events.setdefault(cpu, []).append(event)
            continue
        numbers = [int(word) for word in words]
        if what == "stage":
            cpu, switched, waking, timer, *sums = numbers
            stage = Stage(switched, waking, timer, tuple(sums))
            result.stages.setdefault(cpu, []).append(stage)
        elif what == "thread":
            result.threads[numbers[0]] = numbers[1]
        elif what == "missed":
            result.missed[numbers[0]] = numbers[1]
        elif what == "gap":
            result.gaps += numbers[1]
        elif what in ("cost", "gather"):
            setattr(result, what, tuple(numbers))
    return result


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_driver("tracefs_driver", tmp_path_factory.mktemp("driver"))


@pytest.fixture(scope="module")
def tracefs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the tests a look of their own at the kernel's tracing."""
    place = tmp_path_factory.mktemp("tracefs")
    mounted = subprocess.run(["mount", "-t", "tracefs", "nodev", str(place)], check=False)
    if mounted.returncode:
        pytest.skip("this kernel has no tracefs")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.fixture(scope="module")
def recorded(driver: Path) -> Recorded:
    """Return what was recorded without a loss: whoever else is busy here may cause one."""
    for _ in range(TRIES):
        command = [str(driver), "3", str(RING_BYTES)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120)
        result = parse(done.stdout)
        if not result.gaps and not any(result.missed.values()):
            break
    return result


def instances(tracefs: Path) -> set[str]:
    """Return our probes' instances, also of those that have ended; other tests have probes too."""
    names = {path.name for path in (tracefs / "instances").glob("whylate-*")}
    ours = set(descendants_of(os.getpid()))
    pids = {name: int(name.rpartition("-")[2]) for name in names}
    return {name for name in names if pids[name] in ours or not lives(pids[name])}


def settings(tracefs: Path) -> dict[str, str]:
    """What of the board's tracing is not ours, and where it is mounted: others mount too."""
    names = ("tracing_on", "current_tracer", "trace_clock", "set_event", "buffer_size_kb")
    settings = {name: (tracefs / name).read_text() for name in names}
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    kinds = {"tracefs", "debugfs"}
    return settings | {"mounts": "\n".join(line for line in mounts if line.split()[2] in kinds)}


def start(driver: Path, seconds: int) -> subprocess.Popen[str]:
    """Start the driver and wait until it records."""
    process = subprocess.Popen([driver, str(seconds)], stdout=subprocess.PIPE, text=True)
    assert process.stdout
    for line in process.stdout:
        if line == "recording\n":
            return process
    raise AssertionError("the driver does not record")


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    assert process.stdout
    process.stdout.close()
    process.wait(timeout=10)


def wait_for(tracefs: Path, wanted: set[str], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while instances(tracefs) != wanted and time.monotonic() < end:
        time.sleep(0.02)
    assert instances(tracefs) == wanted


def guardian_of(pid: int) -> int:
    """The process that the driver forked before all else."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    assert len(children) == 1
    return int(children[0])


def watched(recorded: Recorded) -> list[int]:
    """CPUs whose kernel tells when the measured thread is switched to.

    Of a CPU that idles where its kernel may not trace, no switch from the idle thread is told:
    many wakeups have no stage there, and the time until the next event belongs to nobody.
    """
    result = []
    for cpu, events in recorded.events.items():
        switches = [event for event in events if event.kind == SWITCH]
        to_idle = sum(event.d == 0 for event in switches)
        from_idle = sum(event.c == 0 for event in switches)
        if abs(to_idle - from_idle) <= 1 + to_idle / 50 and recorded.stages.get(cpu):
            result.append(cpu)
    return result


def test_every_source_is_reported_as_attached_or_with_its_errno(recorded: Recorded) -> None:
    assert recorded.sources["sched:sched_switch"] == 0
    assert recorded.sources["sched:sched_waking"] == 0
    assert all(0 <= error < 4096 for error in recorded.sources.values())
    assert len(recorded.sources) > 15


def test_the_events_of_a_cpu_are_numbered_without_a_gap_and_in_order(recorded: Recorded) -> None:
    assert recorded.gaps == 0
    for events in recorded.events.values():
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        times = [event.time_ns for event in events]
        assert times == sorted(times)
    assert recorded.cost[0] == sum(map(len, recorded.events.values())) + recorded.cost[2]


def test_a_thousand_wakeups_a_second_can_be_kept_without_a_loss(recorded: Recorded) -> None:
    assert set(recorded.missed) == set(recorded.threads)
    assert not any(recorded.missed.values())


@pytest.mark.parametrize(
    ("entry", "leave", "key"),
    [
        (IRQ_ENTRY, IRQ_EXIT, "c"),
        (VECTOR_ENTRY, VECTOR_EXIT, "a"),
        (SOFTIRQ_ENTRY, SOFTIRQ_EXIT, "a"),
        (TIMER_ENTRY, TIMER_EXIT, "f"),
    ],
)
def test_each_exit_follows_the_entry_of_the_same(
    recorded: Recorded, entry: int, leave: int, key: str
) -> None:
    pairs = 0
    for events in recorded.events.values():
        opened: list[int] = []
        begun = False
        for event in events:
            if event.kind == entry:
                begun = True
                opened.append(getattr(event, key))
            elif event.kind == leave and begun:
                assert opened
                assert opened.pop() == getattr(event, key)
                pairs += 1
        assert len(opened) <= 1
    assert pairs > 0 or entry == IRQ_ENTRY


def test_a_wakeup_goes_from_timer_to_waking_to_switch(recorded: Recorded) -> None:
    cpus = watched(recorded)
    assert cpus
    for cpu in cpus:
        complete = [s for s in recorded.stages[cpu] if s.timer_ns and s.waking_ns]
        assert len(complete) > 0.9 * len(recorded.stages[cpu]), recorded.stages[cpu][:5]
        for stage in complete:
            assert stage.timer_ns <= stage.waking_ns <= stage.switched_ns
        # Each has its own waking: none is that of the stage before.
        wakings = [stage.waking_ns for stage in complete]
        assert all(a < b for a, b in pairwise(wakings))


def test_a_stage_is_at_each_switch_to_the_measured_thread(recorded: Recorded) -> None:
    for cpu in watched(recorded):
        pid = recorded.threads[cpu]
        switches = [e.time_ns for e in recorded.events[cpu] if e.kind == SWITCH and e.d == pid]
        stages = [stage.switched_ns for stage in recorded.stages[cpu]]
        # The last ones are held back until the next look: their waking may be on another CPU.
        assert stages == switches[: len(stages)]
        assert len(switches) - len(stages) < 10


def test_the_sums_and_the_measured_thread_fill_the_wall_time(recorded: Recorded) -> None:
    for cpu in watched(recorded):
        first, last = recorded.stages[cpu][0], recorded.stages[cpu][-1]
        pid, on_ns, since = recorded.threads[cpu], 0, first.switched_ns
        for event in recorded.events[cpu]:
            if event.kind != SWITCH or not first.switched_ns <= event.time_ns <= last.switched_ns:
                continue
            if event.d == pid:
                since = event.time_ns
            elif event.c == pid:
                on_ns += event.time_ns - since
        sums = [b - a for a, b in zip(first.sums, last.sums, strict=True)][:SUMS_OF_WALL_TIME]
        assert all(value >= 0 for value in sums)
        wall_ns = last.switched_ns - first.switched_ns
        # The interrupts and softirqs that fall on the measured thread are in both.
        over_ns = sum(sums) + on_ns - wall_ns
        assert -0.03 * wall_ns <= over_ns <= sum(sums[:2]) + 0.03 * wall_ns


def test_stopping_restores_all_settings_of_tracing(driver: Path, tracefs: Path) -> None:
    before = settings(tracefs)
    subprocess.run([driver, "1"], check=True, capture_output=True, timeout=60)
    assert instances(tracefs) == set()
    assert settings(tracefs) == before


def test_two_recorders_run_at_a_time(driver: Path, tracefs: Path) -> None:
    both = [start(driver, 2) for _ in range(2)]
    assert instances(tracefs) == {f"whylate-{process.pid}" for process in both}
    for process in both:
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert parse(output).events
    assert instances(tracefs) == set()


def test_a_killed_probe_leaves_nothing(driver: Path, tracefs: Path) -> None:
    before = settings(tracefs)
    process = start(driver, 60)
    assert instances(tracefs) == {f"whylate-{process.pid}"}
    kill(process)
    wait_for(tracefs, set())
    assert settings(tracefs) == before


def test_the_instance_of_a_killed_guardian_is_removed_at_the_next_start(
    driver: Path, tracefs: Path
) -> None:
    process = start(driver, 60)
    left = {f"whylate-{process.pid}"}
    os.kill(guardian_of(process.pid), signal.SIGKILL)
    kill(process)
    time.sleep(0.5)
    if not instances(tracefs):
        pytest.skip("another probe began meanwhile, and removed it")
    assert instances(tracefs) == left
    alive = start(driver, 60)
    assert instances(tracefs) == {f"whylate-{alive.pid}"}
    kill(alive)
    wait_for(tracefs, set())


def test_a_user_without_privileges_is_refused_in_one_line(driver: Path) -> None:
    mounts = Path("/proc/self/mounts").read_text()
    # By its descriptor: the tests' directories are closed to others.
    with driver.open("rb") as program:
        path = f"/proc/self/fd/{program.fileno()}"
        done = subprocess.run(
            [path, "1"],
            check=False,
            capture_output=True,
            text=True,
            user=65534,
            pass_fds=[program.fileno()],
            timeout=60,
        )
    assert done.returncode == 3
    assert done.stdout.splitlines()[-1] == "refused 1 tracefs may be opened by root only"
    assert Path("/proc/self/mounts").read_text() == mounts
