"""Causes are built from source, once, and a disguised one does not tell what it is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from machine_lock import this_machine
from whylate.boards.board import notify_nobody
from whylate.lab.description import virtual_board
from whylate.lab.faults.build import modules, programs
from whylate.lab.faults.catalogue import Fault, alias, fault, names, use
from whylate.lab.faults.log import parse_log
from whylate.lab.faults.place import place
from whylate.lab.image import is_fetched

MODULES = [fault(name) for name in names() if fault(name).kind == "module"]
PROGRAMS = [fault(name) for name in names() if fault(name).kind == "program"]


@pytest.fixture
def pc() -> None:
    if not is_fetched(virtual_board("pc")):
        pytest.skip("the packages of pc are not here: make lab")


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "armv7l", "riscv64"])
def test_programs_are_built_for_every_architecture_of_the_probe(machine: str) -> None:
    built = programs(machine, PROGRAMS, notify_nobody)
    assert set(built) == {fault.name for fault in PROGRAMS}
    assert all(data.startswith(b"\x7fELF") for data in built.values())


@pytest.mark.usefixtures("pc")
def test_nothing_is_built_again_where_nothing_changed() -> None:
    modules(virtual_board("pc"), MODULES, notify_nobody)
    programs("x86_64", PROGRAMS, notify_nobody)
    shown: list[str] = []
    modules(virtual_board("pc"), MODULES, shown.append)
    programs("x86_64", PROGRAMS, shown.append)
    # Another test of this machine may be building meanwhile.
    assert [text for text in shown if not text.startswith("waiting for another build")] == []


def _told_by(module: bytes, entry: Fault) -> list[str]:
    """Return the words of a module that would give its fault away."""
    words = [entry.name.replace("-", "_"), "fault_main", "fault_run", "act", "tasklet", "called"]
    symbols = {word for word in module.split(b"\0") if word.isascii()}
    return [word for word in words if word.encode() in symbols]


@pytest.mark.usefixtures("pc")
def test_a_disguised_module_has_neither_its_name_nor_its_functions_names() -> None:
    board = virtual_board("pc")
    plain = modules(board, MODULES, notify_nobody)
    disguised = modules(board, MODULES, notify_nobody, "a test")
    for entry in MODULES:
        assert _told_by(plain[entry.name], entry)
        assert not _told_by(disguised[entry.name], entry)


@pytest.mark.usefixtures("pc")
def test_a_disguised_fault_goes_by_another_name_for_another_disguise() -> None:
    def alias(disguise: str) -> str:
        (placed,) = place(
            [use("rt-task")], machine="x86_64", board=virtual_board("pc"), cpus=1,
            notify=notify_nobody, disguise=disguise,
        )  # fmt: skip
        return placed.alias

    assert alias("") == "rt_task"
    assert alias("one") == alias("one") != alias("two")
    # A thread's name has 15 characters.
    assert len(alias("one")) <= 15


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "rt_task"
    path.write_bytes(programs("x86_64", [fault("rt-task")], notify_nobody)["rt-task"])
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    "words", [["size_us=abc"], ["size_us="], ["no_such=1"], ["size_us"], ["log"], []]
)
def test_a_program_refuses_what_it_does_not_understand(program: Path, words: list[str]) -> None:
    done = subprocess.run([program, *words], capture_output=True, timeout=20, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"whylate fault: ")


#: Two programs that take turns on a CPU, a hundred thousand times a second.
TURNS = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
(to_read, to_write), (from_read, from_write) = os.pipe(), os.pipe()
if os.fork() == 0:
    os.close(to_write)
    os.close(from_read)
    while os.read(to_read, 1):
        os.write(from_write, b"x")
    os._exit(0)
os.close(to_read)
os.close(from_write)
print("begun", flush=True)
while True:
    os.write(to_write, b"x")
    os.read(from_read, 1)
"""


@contextmanager
def turns_on(cpu: int) -> Iterator[None]:
    words = [sys.executable, "-c", TURNS, str(cpu)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            yield
        finally:
            # The other one ends with its pipe.
            process.kill()


def check_log(log: Path, most: int) -> None:
    events, _, dropped = parse_log(log.read_bytes())
    assert dropped == 0
    # What is not known is left out; none is made up.
    assert 1 <= len(events) <= most
    # What interrupts an act splits it: its parts are shorter, and none overlaps the next.
    assert max(event.length_ns for event in events) >= 200_000
    for event, following in pairwise(events):
        assert event.start_ns + event.length_ns <= following.start_ns


@pytest.mark.realtime
def test_a_program_logs_what_it_did_and_ends_after_its_seconds(
    program: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    words = ["period_us=50000", "size_us=200", "jitter_us=0", "seconds=1", "priority=1"]
    subprocess.run([program, f"log={log}", *words], timeout=30, check=True)
    check_log(log, 20)


def wait_for_an_act(pid: int, act_ns: int) -> None:
    """Wait until a fault's program has slept until its first act, and then computed that long."""

    def computed_ns() -> int:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])

    def sleeps() -> bool:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"

    while os.sched_getscheduler(pid) != os.SCHED_FIFO or not sleeps():
        time.sleep(0.001)
    before_ns = computed_ns()
    while computed_ns() < before_ns + act_ns:
        time.sleep(0.01)


@pytest.mark.realtime
def test_a_beginning_that_the_kernel_had_no_room_for_is_not_an_earlier_one(
    program: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    cpu = min(os.sched_getaffinity(0))
    words = ["period_us=1000000", "size_us=200", "jitter_us=0", "seconds=4", "priority=1"]
    command = [str(program), f"log={log}", f"cpu={cpu}", *words]
    # Benchmarks of this machine fill the ring as well.
    with this_machine(), subprocess.Popen(command) as process:
        # It acts once before the switches fill its ring.
        wait_for_an_act(process.pid, 200_000)
        with turns_on(cpu):
            process.wait(30)
    assert process.returncode == 0
    if not parse_log(log.read_bytes())[0]:
        pytest.skip("other programs' switches filled the kernel's ring before the first act")
    check_log(log, 4)


@pytest.mark.usefixtures("pc")
def test_a_disguised_module_keeps_the_names_of_functions_that_begin_with_its_own() -> None:
    entry = fault("slow-hrtimer")
    built = modules(virtual_board("pc"), [entry], notify_nobody, "a test")[entry.name]
    words = set(built.split(b"\0"))
    name = alias(entry, "a test")
    assert {f"{name}_f".encode(), f"{name}_b".encode()} <= words
    assert b"slow_hrtimer_f" not in words
