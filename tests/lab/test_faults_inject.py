"""Causes tried in real time begin, say what they did, and leave the board as it was."""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from click.testing import CliRunner

from own_boards import own_boards
from whylate.boards.board import Finished, notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.boards.ready import held
from whylate.cli.lab import inject as lab_inject
from whylate.cli.lab.inject import faults, inject
from whylate.lab.description import virtual_board
from whylate.lab.errors import LabError
from whylate.lab.faults.catalogue import fault, names, use, uses
from whylate.lab.faults.log import FaultLog
from whylate.lab.faults.place import PlacedFault
from whylate.run.faults import inject as run_inject
from whylate.run.faults.inject import Injection
from whylate.run.faults.inject import inject as inject_on

#: Everything that a fault could leave behind; not the kernel's taint, which nothing takes back.
STATE = (
    "cat /proc/sys/kernel/sched_rt_runtime_us /proc/sys/kernel/sched_rt_period_us "
    "/proc/sys/kernel/printk_devkmsg; ls /sys/module /run /whylate /sys/kernel/debug; "
    "cat /sys/devices/system/cpu/cpuidle/current_driver; grep -c slow_irq /proc/interrupts; "
    "cat /proc/[0-9]*/comm | grep -e irqs -e slow -e throttl -e printk -e rt_task; true"
)


@pytest.fixture(scope="module", autouse=True)
def boards() -> Iterator[None]:
    with own_boards("pc", "virt-arm64"):
        yield


@pytest.fixture(scope="module")
def pc_is_on(boards: None) -> Iterator[None]:
    """Switch pc on and leave it on, as `whylate board on` does."""
    del boards
    board = QemuBoard(virtual_board("pc"), VirtualOptions(cpus=2))
    board.stay_on()
    with held(board, notify_nobody):
        board.boot(notify_nobody)
    yield
    with held(board, notify_nobody):
        board.power.off()


def _state() -> list[bytes]:
    with held(QemuBoard(virtual_board("pc")), notify_nobody) as board:
        return sorted(board.run(["sh", "-c", STATE]).output.splitlines())


@pytest.mark.qemu
@pytest.mark.usefixtures("pc_is_on")
def test_a_board_that_was_on_stays_on_and_is_left_as_it_was_found() -> None:
    before = _state()
    modules = (use("irqs-off"), use("slow-irq"), use("late-idle"), use("rt-throttling"))
    logs = inject_on("pc", Injection(modules, 1.0), notify_nobody)
    assert [log.fault.name for log in logs] == [fault.name for fault in modules]
    assert all(log.events for log in logs)
    assert _state() == before


@pytest.mark.qemu
@pytest.mark.usefixtures("pc_is_on")
@pytest.mark.parametrize("traced", [0, 1])
def test_a_spin_that_is_given_up_after_some_tries_is_short(traced: int) -> None:
    """By the log of the waiter itself: without a limit it waits for as long as the lock is held."""
    lock = {"size_us": 4_000, "period_us": 20_000, "traced": traced}

    def median_us(**limit: int) -> float:
        faults = (use("lock-held", lock | limit),)
        (log,) = inject_on("pc", Injection(faults, 2.0), notify_nobody)
        assert len(log.events) > 10
        return statistics.median(event.length_ns for event in log.events) / 1_000

    assert median_us() >= 4_000
    assert median_us(spin_limit=10) < 2_000


@pytest.mark.qemu
@pytest.mark.usefixtures("pc_is_on")
def test_a_host_that_is_killed_leaves_a_program_that_puts_settings_back() -> None:
    """The program is killed too, the hardest way; its guardian is not."""
    before = _state()
    code = (
        "from whylate.run.faults.inject import *; from whylate.lab.faults.catalogue import use;"
        "inject('pc', Injection((use('rt-throttling'),), 60.0), lambda t: print(t, flush=True))"
    )
    host = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert host.stdout is not None
    try:
        assert any("for 60 s" in line for line in host.stdout)
    finally:
        host.kill()
        host.wait()
        host.stdout.close()
    with held(QemuBoard(virtual_board("pc")), notify_nobody) as board:
        changed = board.run(["cat", "/proc/sys/kernel/sched_rt_period_us"]).output
        assert changed == b"50000\n"
        board.run(["sh", "-c", "kill -9 $(cat /run/whylate-faults/rt_throttling.pid)"])
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and changed != b"1000000\n":
            time.sleep(0.1)
            changed = board.run(["cat", "/proc/sys/kernel/sched_rt_period_us"]).output
        assert changed == b"1000000\n"
        board.run(["sh", "-c", "kill -15 -$(cat /run/whylate-faults/watch)"])
        board.run(["rm", "-rf", "/run/whylate-faults"])
    assert _state() == before


@pytest.mark.qemu
def test_a_machine_stopped_from_outside_does_nothing_meanwhile_by_its_own_clock() -> None:
    stops = use("machine-stopped", {"period_us": 300_000, "size_us": 60_000})
    witness = use("rt-task", {"period_us": 2000, "size_us": 100, "jitter_us": 0})
    shown: list[str] = []
    stopped, seen = inject_on("virt-arm64", Injection((stops, witness), 3.0), shown.append)
    assert len(stopped.events) >= 5
    assert all(event.length_ns >= 60_000_000 for event in stopped.events)
    acted = [event.start_ns for event in seen.events]
    assert len(acted) > 300
    for event in stopped.events:
        # The two clocks are known to each other to a few ms.
        begin, end = event.start_ns + 10_000_000, event.start_ns + event.length_ns - 10_000_000
        assert not [start for start in acted if begin < start < end]
        assert [start for start in acted if begin - 200_000_000 < start < begin]


@pytest.mark.qemu
def test_the_command_prints_what_was_done_and_switches_off_what_it_switched_on() -> None:
    words = ["rt-task", "size_us=400", "--board", "virt-arm64", "--for", "1s"]
    done = CliRunner().invoke(inject, words, catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.startswith("rt-task: acted ")
    shortest = re.search(r"on CPU 0, min ([\d.]+) (µs|ms),", done.stdout)
    assert shortest is not None
    # Where this machine stops the board meanwhile, even the shortest is longer than asked for.
    assert float(shortest[1]) * {"µs": 1, "ms": 1000}[shortest[2]] >= 400
    assert not QemuBoard(virtual_board("virt-arm64")).power.is_on()


@pytest.mark.qemu
def test_a_fault_that_does_not_start_is_said_and_the_board_is_switched_off_again() -> None:
    uses = (use("rt-task", {"cpu": 7}),)
    with pytest.raises(Exception, match=r"rt-task did not start: .*CPU cannot be used"):
        inject_on("virt-arm64", Injection(uses, 1.0), notify_nobody)
    assert not QemuBoard(virtual_board("virt-arm64")).power.is_on()


def test_the_list_names_every_fault_and_one_is_described_with_its_right_answer() -> None:
    listed = CliRunner().invoke(faults, [], catch_exceptions=False).stdout
    assert [line.split()[0] for line in listed.splitlines()] == names()
    shown = CliRunner().invoke(faults, ["softirq-storm"], catch_exceptions=False).stdout
    assert fault("softirq-storm").answer.detail in shown
    assert "period_us=10000" in shown


def test_parameters_belong_to_the_fault_before_them() -> None:
    first, second = uses(("irqs-off", "size_us=7", "rt-task", "size_us=8"))
    assert (first.name, first.number("size_us")) == ("irqs-off", 7)
    assert (second.name, second.number("size_us")) == ("rt-task", 8)
    with pytest.raises(LabError, match="name the fault first"):
        uses(("size_us=7", "irqs-off"))


def test_stopping_a_machine_is_refused_where_there_is_no_emulator() -> None:
    with pytest.raises(LabError, match="emulator"):
        inject_on("local", Injection((use("machine-stopped"),), 1.0), notify_nobody)


def test_a_stopped_process_goes_on_when_whoever_stopped_it_is_killed() -> None:
    """The rescue of MachineStops, with a sleeping process in the emulator's place."""
    victim = subprocess.Popen(["sleep", "60"])
    code = (
        "import time, sys, whylate.run.faults.machine_stops as m; "
        "from whylate.lab.faults.catalogue import use; m._clock_offset = lambda board: (0, 0);"
        "s = m.MachineStops(use('machine-stopped', {'period_us': 9000000, 'size_us': 100000, "
        "'jitter_us': 0}), int(sys.argv[1]), None, print);"
        "s._use.parameters['size_us'] = 60000000; s._use.parameters['period_us'] = 1;"
        "s.start(); time.sleep(60)"
    )
    host = subprocess.Popen([sys.executable, "-c", code, str(victim.pid)], stdout=subprocess.PIPE)
    try:
        assert _reaches(victim.pid, "T")
        host.send_signal(signal.SIGKILL)
        assert _reaches(victim.pid, "S")
    finally:
        host.kill()
        host.communicate()
        os.kill(victim.pid, signal.SIGCONT)
        victim.kill()
        victim.wait()


def _reaches(pid: int, state: str) -> bool:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            if file.read().rpartition(")")[2].split()[0] == state:
                return True
        time.sleep(0.02)
    return False


#: One event, as a fault writes it.
LOG = b"whylate-fault-log 1 dropped 0\n100 20 0\n"


class Answering:
    """A board that answers commands as it is told to, as far as faults need one."""

    name = "board7"
    console = None

    def __init__(self, answer: Callable[[str], bytes | int]) -> None:
        self._answer = answer
        self.ran: list[str] = []

    def run(self, argv: Sequence[str], *, data: bytes = b"", timeout_s: float = 60.0) -> Finished:
        del data, timeout_s
        command = " ".join(argv)
        self.ran.append(command)
        answer = self._answer(command)
        return Finished(0, answer, b"") if isinstance(answer, bytes) else Finished(answer, b"", b"")

    def ran_of(self, word: str) -> int:
        return sum(word in command for command in self.ran)


def _placed(*names_of: str) -> list[PlacedFault]:
    return [
        PlacedFault(use(n), n, f"/run/{n}", b"", f"/run/{n}.log", f"start {n}", f"stop {n}")
        for n in names_of
    ]


def _act(board: Answering, *names_of: str) -> tuple[list[FaultLog], str, list[str]]:
    """Return the logs that were kept, what was raised, and what was told."""
    placed, kept, shown = _placed(*names_of), list[FaultLog](), list[str]()
    injection = Injection(tuple(fault.use for fault in placed), 0.0)
    with pytest.raises((BoardError, LabError)) as caught:
        run_inject._act(board, placed, injection, shown.append, kept.append)  # type: ignore[arg-type]
    return kept, str(caught.value), shown


def _cleaned(board: Answering) -> bool:
    return bool(board.ran_of("rm -f /run/rt-task ") and board.ran_of("rmdir"))


def test_the_logs_are_kept_though_a_fault_cannot_be_removed() -> None:
    board = Answering(lambda command: 1 if command == "sh -c stop rt-task" else LOG)
    kept, output, _ = _act(board, "rt-task", "rt-throttling")
    assert [log.fault.name for log in kept] == ["rt-task", "rt-throttling"]
    assert "board7 is not as it was found: rt-task cannot be removed" in output
    assert board.ran_of("sh -c stop rt-throttling") == 1
    assert _cleaned(board)


def test_a_damaged_log_keeps_nothing_from_being_removed() -> None:
    board = Answering(lambda command: b"garbage" if "rt-throttling.log" in command else LOG)
    kept, output, _ = _act(board, "rt-task", "rt-throttling")
    assert [log.fault.name for log in kept] == ["rt-task"]
    assert "rt-throttling: the fault's output is not a log" in output
    assert (board.ran_of("sh -c stop rt-throttling"), board.ran_of("sh -c stop rt-task")) == (1, 1)
    assert _cleaned(board)


@pytest.mark.parametrize("step", ["tr -d", "stop"])
def test_a_step_that_is_not_answered_keeps_no_other_from_being_taken(step: str) -> None:
    def answer(command: str) -> bytes:
        # The one that was begun last is ended first.
        if step in command and "rt-throttling" in command and "setsid" not in command:
            raise BoardError("sh took longer than 60 s")
        return LOG

    board = Answering(answer)
    kept, output, _ = _act(board, "rt-task", "rt-throttling")
    read = ["rt-task"] if step == "tr -d" else ["rt-task", "rt-throttling"]
    assert [log.fault.name for log in kept] == read
    assert "rt-throttling" in output
    assert "took longer than 60 s" in output
    assert (board.ran_of("sh -c stop rt-throttling"), board.ran_of("sh -c stop rt-task")) == (1, 1)
    assert board.ran_of("rm -f /run/rt-task ")
    # A fault that may not have heard that it is to end is left to the watch.
    assert board.ran_of("rmdir") == (1 if step == "tr -d" else 0)


def test_a_board_that_is_dead_is_not_asked_for_ever_and_what_came_first_is_said() -> None:
    def answer(command: str) -> bytes:
        if "setsid" in command:
            return b""
        raise BoardError("the console's line is gone")

    board = Answering(answer)
    kept, output, shown = _act(board, "rt-task", "rt-throttling")
    assert kept == []
    # Beginning the first failed already.
    assert output == "the console's line is gone"
    assert any("rt-task cannot be removed" in text for text in shown)
    assert len(board.ran) <= 2 + run_inject.GIVE_UP


def test_what_was_done_is_printed_though_the_board_could_not_be_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Leaving(Answering):
        def hold(self, notify: object) -> None: ...

        def boot(self, notify: object) -> None: ...

        def close(self) -> None:
            raise BoardError("board7 is still on: the relay sticks")

    board = Leaving(lambda _: LOG)
    monkeypatch.setattr(run_inject, "open_board", lambda _: board)
    monkeypatch.setattr(run_inject, "_copy", lambda *_: _placed("rt-task"))
    done = CliRunner().invoke(lab_inject.inject, ["rt-task", "--board", "board7", "--for", "1ms"])
    assert isinstance(done.exception, BoardError)
    assert "the relay sticks" in str(done.exception)
    assert done.stdout.startswith("rt-task: acted 1 times on CPU 0")
