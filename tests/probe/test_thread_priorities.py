"""A priority for the threads of a name: it is read back, and put back however the run ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from c_programs import compile_c

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(os.geteuid() != 0, reason="a priority needs root"),
]

NAME = "wl-t (x) 7"
RESET_ON_FORK = os.SCHED_RESET_ON_FORK
ORDINARY, RAISED = (os.SCHED_OTHER, 0), (os.SCHED_FIFO | RESET_ON_FORK, 30)
Start = Callable[[], int]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sources = [f"guardian/{name}.c" for name in ("priorities", "settings", "threads")]
    sources += ["failure.c", "small_file.c"]
    return compile_c("cc", "thread_priorities", sources, tmp_path_factory.mktemp("threads"), [])


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start programs that sleep, by a name of our own."""
    program = tmp_path / NAME
    sleep = shutil.which("sleep")
    assert sleep is not None
    shutil.copy(sleep, program)
    children: list[subprocess.Popen[bytes]] = []

    def begin() -> int:
        children.append(subprocess.Popen([program, "60"]))
        comm = Path(f"/proc/{children[-1].pid}/comm")
        while comm.read_text().strip() != NAME:
            time.sleep(0.01)
        return children[-1].pid

    yield begin
    for child in children:
        child.kill()
        child.wait()


def scheduled(pid: int) -> tuple[int, int]:
    return os.sched_getscheduler(pid), os.sched_getparam(pid).sched_priority


class Run:
    """A run that has given the threads a priority."""

    def __init__(self, driver: Path, priority: str = "30") -> None:
        """Start it, and wait until that is done or refused."""
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([driver, NAME, priority], stdin=pipe, stdout=pipe,
                                         text=True)  # fmt: skip
        self.applied = self._line()

    def end(self) -> str:
        """End it, and return how that went."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.close()
        line = self._line()
        self._close()
        return line

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()
        self._close()

    def _close(self) -> None:
        with self._process:
            pass

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def test_all_threads_of_the_name_have_it_until_the_run_ends(driver: Path, start: Start) -> None:
    pids = [start(), start()]
    os.setpriority(os.PRIO_PROCESS, pids[1], 5)
    run = Run(driver)
    assert run.applied == "0"
    assert [scheduled(pid) for pid in pids] == [RAISED, RAISED]
    assert run.end() == "0"
    assert [scheduled(pid) for pid in pids] == [ORDINARY, ORDINARY]
    assert [os.getpriority(os.PRIO_PROCESS, pid) for pid in pids] == [os.nice(0), 5]


def test_a_thread_that_has_ended_needs_nothing(driver: Path, start: Start) -> None:
    pids = [start(), start()]
    run = Run(driver)
    os.kill(pids[0], 9)
    os.waitpid(pids[0], 0)
    assert run.end() == "0"
    assert scheduled(pids[1]) == ORDINARY


def test_what_a_killed_run_leaves_is_put_back_by_the_next(driver: Path, start: Start) -> None:
    pid = start()
    run = Run(driver)
    run.kill()
    assert scheduled(pid) == RAISED
    done = subprocess.run([driver], capture_output=True, text=True, check=True)
    assert int(done.stdout) >= 1
    assert scheduled(pid) == ORDINARY


def test_a_thread_that_began_later_or_was_changed_is_reported(driver: Path, start: Start) -> None:
    first = start()
    run = Run(driver)
    start()
    # Shorter ones are helpers that a thread forks.
    time.sleep(2.1)
    assert "1 of 2 threads named" in run.end()
    run = Run(driver)
    os.sched_setscheduler(first, os.SCHED_OTHER, os.sched_param(0))
    assert "something else sets it" in run.end()


@pytest.mark.parametrize(("priority", "reason"), [
    ("0", "is no priority"), ("100", "is no priority"), ("30x", "is no priority"),
    ("30", "no thread is named"),
])  # fmt: skip
def test_what_cannot_be_given_is_refused(driver: Path, priority: str, reason: str) -> None:
    run = Run(driver, priority)
    run.kill()
    assert reason in run.applied


def test_a_priority_is_not_lowered_and_all_are_as_they_were(driver: Path, start: Start) -> None:
    pids = [start(), start()]
    os.sched_setscheduler(max(pids), os.SCHED_FIFO, os.sched_param(40))
    run = Run(driver)
    assert "it already has this priority or a higher one" in run.applied
    assert scheduled(min(pids)) == ORDINARY
    assert scheduled(max(pids)) == (os.SCHED_FIFO, 40)
    run.kill()
