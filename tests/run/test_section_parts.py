"""What `whylate section` says that threads did meanwhile, of programs of which it is known.

See parts.c. Machines are shared and noisy: only shares and counts are compared.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from section_runs import CALLS, report_of, timed

from c_programs import FLAGS
from whylate.recording.reader import open_recording
from whylate.recording.sections import SectionReport
from whylate.summary.model import ExecutionClassFigures, LockFigures, SectionFigures
from whylate.summary.summarize import summarize

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may trace"),
]

#: Numbers of getppid, getrandom and renameat2.
GETPPID, GETRANDOM, RENAME = {"x86_64": (110, 318, 316), "aarch64": (173, 278, 276)}.get(
    platform.machine(), (0, 0, 0)
)
NAME, OTHER = "wl-parts", "wl-other"
PARTS = ("interrupted_ns", "preempted_ns", "slept_ns", "lock_ns", "fault_ns", "steal_ns")
#: So many wait for one lock that some find another one taken on their way to sleep.
THREADS = 48


@dataclass(frozen=True)
class Run:
    """A run: its rows by column, and what is said of them."""

    rows: dict[str, NDArray[np.int64]]
    dropped: int
    #: Whether waits for locks were overwritten before the probe read them: then no group has them.
    has_lost_waits: bool
    section: SectionReport
    figures: SectionFigures

    @property
    def classes(self) -> dict[str, ExecutionClassFigures]:
        assert self.figures.longer is not None
        return {each.name: each for each in self.figures.longer.classes}

    @property
    def is_longer(self) -> NDArray[np.bool_]:
        """Return which executions took longer than twice the median."""
        assert self.figures.longer is not None
        longer: NDArray[np.bool_] = self.rows["latency_ns"] > self.figures.longer.above_ns
        return longer


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """Return a folder in memory, where a rename waits for locks alone, with the programs."""
    memory = Path("/dev/shm")  # noqa: S108 (only a folder with a name of its own is used)
    if not memory.is_dir():
        pytest.skip("there is no file system in memory at /dev/shm")
    with tempfile.TemporaryDirectory(prefix="whylate-parts-", dir=memory) as name:
        here = Path(name)
        source = Path(__file__).with_name("parts.c")
        command = ["cc", *FLAGS, "-O2", "-pthread", str(source), "-o", str(here / NAME)]
        subprocess.run(command, check=True)
        shutil.copy(here / NAME, here / OTHER)
        yield here


def run_of(folder: Path, place: Path, condition: str, *program: str) -> Run:
    """Time calls of a program in the folder while it runs."""
    shell = ["sh", "-c", f'cd "$0" || exit; {" ".join(program)}', str(folder)]
    options = ("--comm", NAME, "--locks", "--one-in", "1")
    manifest = timed(place, f"{CALLS} {condition}".strip(), *options, program=shell)
    section, _ = report_of(manifest)
    recording = open_recording(place)
    table = pq.read_table(place / "samples.parquet")
    rows = {name: table[name].to_numpy() for name in ("latency_ns", "pid", *PARTS)}
    summary = summarize(recording.series, manifest, "r", executions=recording.executions)
    assert summary.section is not None
    dropped = sum(cpu.dropped for cpu in manifest.cpus)
    has_lost_waits = any(problem.code == "locks" for problem in manifest.problems)
    return Run(rows, dropped, has_lost_waits, section, summary.section)


def make_runs(condition: str, *program: str) -> Callable[..., Run]:
    """Return a fixture with a run of a program, which all tests of it share."""

    @pytest.fixture(scope="module")
    def run(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
        return run_of(folder, tmp_path_factory.mktemp("run") / "r", condition, *program)

    return run


sleeps = make_runs("", f"./{NAME} sleeps 500")
hogs = make_runs(f"if id=={GETRANDOM}", f"./{NAME} hogs 1500")
fights = make_runs(f"if id=={RENAME}", f"./{NAME} fights {THREADS} 1200")
#: The same locks are waited for, but not in the section: by its threads in other calls, and by
#: another program.
outside = make_runs(f"if id=={GETPPID}", f"./{NAME} fights 8 800")
others = make_runs(f"if id=={GETPPID}", f"./{OTHER} fights 8 1000 & ./{NAME} calls 100; wait")
#: Several share the CPUs, with so many executions that some end as a tick comes.
busy = make_runs("", f"for i in 1 2 3 4; do ./{NAME} calls 1500 & done; wait")
#: Of 1,000 executions some end as an interrupt comes.
alarms = make_runs("", f"./{NAME} alarms 1500")
RUNS = ("sleeps", "hogs", "fights", "outside", "others", "busy", "alarms")


def is_for_directory(lock: LockFigures) -> bool:
    """Whether these are waits of renames for the lock of their directory."""
    return lock.kind == "semaphore for writing" and any("rename" in each for each in lock.callers)


@pytest.mark.parametrize("name", RUNS)
def test_no_part_is_negative_and_all_together_take_no_longer_than_the_execution(
    name: str, request: pytest.FixtureRequest
) -> None:
    rows = request.getfixturevalue(name).rows
    assert rows["latency_ns"].size > 100
    parts = np.column_stack([rows[part] for part in PARTS])
    assert (parts >= 0).all()
    assert (parts.sum(axis=1) <= rows["latency_ns"]).all()


@pytest.mark.parametrize("name", RUNS)
def test_an_empty_section_takes_some_time_and_less_than_the_median(
    name: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(name)
    median_ns = np.median(run.rows["latency_ns"])
    for floor in (run.section.floor_before, run.section.floor_after):
        assert floor is not None
        assert floor.why == ""
        assert floor.executions > 1000
        assert 0 < floor.floor_ns < median_ns


@pytest.mark.parametrize("name", RUNS)
def test_all_parts_are_observed(name: str, request: pytest.FixtureRequest) -> None:
    run: Run = request.getfixturevalue(name)
    assert {"interrupts", "switches"} <= set(run.section.observed)
    if "locks" in run.section.observed:
        assert run.figures.longer is not None
        # Those of which not every kernel has evidence.
        assert set(run.figures.longer.not_observed) <= {"time of page faults", "steal"}


def test_calls_that_sleep_are_asleep(sleeps: Run) -> None:
    duration_ns = sleeps.rows["latency_ns"]
    long = duration_ns > 500_000
    assert long.sum() >= 500
    asleep = sleeps.rows["slept_ns"] >= 0.8 * duration_ns
    # The kernel leaves out some switches.
    assert asleep[long].mean() >= 0.95
    # While the program starts and ends, some others may sleep.
    assert (sleeps.rows["slept_ns"] > 0)[~long].mean() < 0.001
    classes = sleeps.classes
    assert next(iter(classes)) == "asleep"
    assert classes["asleep"].share > 0.8
    assert classes["asleep"].count >= 0.95 * 500
    longest_ns = classes["asleep"].longest_ns
    assert longest_ns is not None
    assert longest_ns > 1_000_000


def test_calls_whose_cpu_another_program_wants_as_well_are_preempted(hogs: Run) -> None:
    duration_ns, preempted_ns = hogs.rows["latency_ns"], hogs.rows["preempted_ns"]
    assert (preempted_ns > 0).sum() >= 20
    # The two have the same right to the CPU; others may be there too.
    assert preempted_ns.sum() > 0.25 * duration_ns.sum()
    # Nothing in it sleeps.
    assert hogs.rows["slept_ns"].sum() < 0.02 * preempted_ns.sum()
    assert hogs.rows["lock_ns"].sum() < 0.02 * preempted_ns.sum()
    mostly = 2 * preempted_ns >= duration_ns
    assert mostly[hogs.is_longer].mean() >= 0.7
    classes = hogs.classes
    assert next(iter(classes)) == "preempted"
    assert classes["preempted"].share > 0.7
    assert classes["preempted"].count >= 0.9 * (mostly & hogs.is_longer).sum()


def test_ticks_are_interrupts_of_what_they_come_in(hogs: Run) -> None:
    interrupted_ns = hogs.rows["interrupted_ns"]
    assert (interrupted_ns > 0).sum() >= 20
    assert interrupted_ns.sum() < 0.3 * hogs.rows["latency_ns"].sum()


def has_locks(run: Run) -> None:
    if "locks" not in run.section.observed:
        pytest.skip("waits for locks have no tracepoint on this kernel")


def test_renames_in_one_directory_wait_for_its_lock(fights: Run) -> None:
    has_locks(fights)
    duration_ns, lock_ns = fights.rows["latency_ns"], fights.rows["lock_ns"]
    assert (lock_ns > 0).sum() >= 20
    assert lock_ns.sum() > 0.5 * duration_ns.sum()
    classes = fights.classes
    assert next(iter(classes)) == "waiting for a lock"
    assert classes["waiting for a lock"].count >= 20


def test_who_sleeps_for_a_lock_is_not_asleep(fights: Run) -> None:
    """Where a thread waits for another lock on its way to sleep, it waits for the first still."""
    has_locks(fights)
    waits = fights.is_longer & (2 * fights.rows["lock_ns"] > fights.rows["latency_ns"])
    assert waits.sum() >= 20
    assert (fights.rows["slept_ns"] > 0).sum() <= 0.005 * waits.sum()


def test_the_waits_that_are_told_are_those_of_the_rows(fights: Run) -> None:
    has_locks(fights)
    if fights.has_lost_waits:
        pytest.skip("the probe did not get a CPU in time to read all waits")
    told = fights.section.locks
    told_ns, seen_ns = sum(lock.total_ns for lock in told), fights.rows["lock_ns"].sum()
    # A wait that ends right behind an execution is told, and may be taken from its row
    # (drop_longest). A busy machine drops rows, whose waits are told.
    assert seen_ns <= told_ns
    assert fights.dropped or seen_ns >= 0.999 * told_ns
    assert sum(lock.count for lock in told) >= (fights.rows["lock_ns"] > 0).sum()
    first = fights.figures.locks[0]
    assert is_for_directory(first), first
    # It has an address, and no name: it is in an inode.
    assert first.lock is not None
    assert first.lock.startswith("0x")
    assert first.total_ns > 0.9 * fights.rows["lock_ns"].sum()
    assert first.longest_ns <= fights.rows["latency_ns"].max()


@pytest.mark.parametrize("name", ["outside", "others"])
def test_waits_for_the_same_locks_outside_of_the_section_are_not_counted(
    name: str, request: pytest.FixtureRequest
) -> None:
    run: Run = request.getfixturevalue(name)
    has_locks(run)
    assert run.rows["latency_ns"].size > 1000
    assert not [lock for lock in run.figures.locks if is_for_directory(lock)]
    # Of the scheduler's locks there may be a wait.
    assert run.rows["lock_ns"].sum() < 0.02 * run.rows["latency_ns"].sum()
    assert (run.rows["lock_ns"] > 0).mean() < 0.01


@pytest.mark.parametrize(
    "section",
    [
        "irq:softirq_entry..irq:softirq_exit",
        "irq_vectors:local_timer_entry..irq_vectors:local_timer_exit",
    ],
)
def test_an_interrupt_does_not_interrupt_itself(tmp_path: Path, section: str) -> None:
    events = Path("/sys/kernel/tracing/events")
    system = section.partition(":")[0]
    if events.is_dir() and any(events.iterdir()) and not (events / system).is_dir():
        pytest.skip(f"this kernel has no {system}")
    manifest = timed(tmp_path / "r", section, "--one-in", "1", program=["sleep", "1"])
    report_of(manifest)
    table = pq.read_table(tmp_path / "r" / "samples.parquet")
    took_ns, interrupted_ns = (table[name].to_numpy() for name in ("latency_ns", PARTS[0]))
    assert took_ns.size > 50
    # Others may come in between; the interrupt's own time would be most of each.
    assert np.mean(interrupted_ns > took_ns / 2) < 0.2
