"""Soaks of a real virtual board: it dies in many ways, and the soak counts and goes on."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import starts
from own_boards import NEVER_UP, own_boards
from soak_plans import wakeup_soak
from waiting import came_true
from whylate.boards.board import Notify, StartedProbe, notify_nobody
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.lab.description import virtual_board
from whylate.lab.image import ON_PORT
from whylate.recording.reader import open_recording
from whylate.run import measure as measure_module
from whylate.run.progress import Quiet, Step
from whylate.soak import cycle as soak_cycle
from whylate.soak.carry_out import Goal, soak
from whylate.soak.journal import cycle_directory, read_soak
from whylate.soak.model import Cycle, SoakPlan
from whylate.soak.summary import summarize

BOARD = "virt-arm64"

pytestmark = pytest.mark.qemu


@pytest.fixture(autouse=True)
def state() -> Iterator[Path]:
    with own_boards(BOARD) as directory:
        yield directory


class Watcher(Quiet):
    """Does something when a cycle ends."""

    def __init__(self, after: Callable[[Cycle], None] = lambda _: None) -> None:
        self.after = after

    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None:
        pass

    def cycle_ended(self, cycle: Cycle) -> None:
        self.after(cycle)


def plan(**wanted: object) -> SoakPlan:
    return wakeup_soak(**{"board": BOARD, "run_for_ns": 10**9, **wanted})  # type: ignore[arg-type]


def outcomes(cycles: Sequence[Cycle]) -> list[str]:
    """What became of the cycles; a run that a busy host let go too late came to its end, too."""
    return ["ok" if "first deadline" in item.why else item.outcome for item in cycles]


def kernel_lines(log: bytes) -> set[bytes]:
    """What the kernel says at every boot: its lines without times, addresses and counts."""
    lines = re.findall(rb"^\[ *\d+\.\d+\] (.*?)\r*$", log, re.MULTILINE)
    return {re.sub(rb"(0x)?[0-9a-f]*\d[0-9a-f]*", b"#", line) for line in lines}


def test_two_cycles_of_a_board_that_was_on(tmp_path: Path) -> None:
    board = open_board(BOARD)
    assert isinstance(board, QemuBoard)
    board.hold(notify_nobody)
    board.stay_on()
    board.power.on()
    board.close()
    fresh = open_board(BOARD)
    busy: list[bool] = []

    def try_to_take(_: Cycle) -> None:
        with pytest.raises(BoardBusyError):
            open_board(BOARD).hold(notify_nobody)
        busy.append(True)

    made = plan(keep="failures")
    assert soak(fresh, made, Goal(cycles=2), tmp_path / "s", Watcher(try_to_take)) == "done"

    _, cycles = read_soak(tmp_path / "s")
    assert outcomes(cycles) == ["ok", "ok"], cycles
    assert len(busy) == 2
    for item in cycles:
        assert item.boot_s is not None
        assert item.measuring_s is not None
        assert 0 < item.boot_s < item.measuring_s < item.total_s
        assert item.latency is not None
        assert item.latency.expected >= 2000  # two CPUs, 1 s, 1 kHz
        assert item.latency.expected == item.latency.seen + item.latency.overrun
        # An ordinary kernel's console, without a boot loader.
        assert [stage.name for stage in item.boot_stages or []] == [
            "kernel",
            "clock-source",
            "init",
        ]
        assert item.console is not None
        # The end of the console is looked for after a good run alone.
        assert item.console.whole is (True if item.outcome == "ok" else None)
        left = cycle_directory(tmp_path / "s", item.cycle)
        kept = ["console.log"] if item.outcome == "ok" else ["console.log", "recording"]
        assert sorted(entry.name for entry in left.iterdir()) == kept
        log = (left / "console.log").read_bytes()
        assert len(log) == item.console.bytes
        assert log.startswith(b"[    0.000000] Booting Linux on physical CPU")
        ready = log.index(b"whylate: ready")
        if item.outcome == "ok":
            assert ready < log.index(b"whylate: end of cycle-%d" % item.cycle)
    first, second = (
        kernel_lines((cycle_directory(tmp_path / "s", n) / "console.log").read_bytes())
        for n in (1, 2)
    )
    assert len(first & second) > 150
    # CPUs and devices do not always come up in the same order, so that a few lines differ.
    assert len(first ^ second) < 8, first ^ second
    # It is on again, as it was found.
    assert fresh.power is not None
    assert fresh.power.is_on()
    fresh.power.off()
    assert not board.power.is_on()


class Sabotaged(QemuBoard):
    """A board to which something happens in its second cycle, its third, and so on."""

    def __init__(self) -> None:
        super().__init__(virtual_board(BOARD), VirtualOptions(cpus=1))
        self.cycle = 0

    def boot(self, notify: Notify) -> None:
        self.cycle += 1
        super().boot(notify)

    def start_probe(self, notify: Notify) -> StartedProbe:
        if self.cycle == 4:
            self.run(["rm", ON_PORT])
        if self.cycle == 5:
            # What the board prints from here on goes into a file that has no name.
            self.machine.console_log.unlink()
            self.machine.console_log.write_bytes(b"somebody else's log\n")
        return super().start_probe(notify)

    def measuring(self) -> None:
        """Measuring begins in a moment."""
        if self.cycle == 2:
            self.run(["sh", "-c", "(sleep 1; echo c >/proc/sysrq-trigger) >/dev/null 2>&1 &"])
        if self.cycle == 3:
            assert self.machine.pid is not None
            threading.Timer(1.0, os.kill, [self.machine.pid, signal.SIGSTOP]).start()


class Saboteur(Watcher):
    """Tells the board when its run begins."""

    def __init__(self, board: Sabotaged) -> None:
        super().__init__()
        self._board = board

    def step(self, step: Step) -> None:
        if step is Step.MEASURE:
            self._board.measuring()


def test_a_board_that_dies_in_every_way_is_counted_and_the_soak_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure_module, "OVERTIME_S", 3.0)
    monkeypatch.setattr(soak_cycle, "ANSWER_S", 3.0)
    board = Sabotaged()
    soak(
        board,
        plan(run_for_ns=3 * 10**9, smp=1),
        Goal(cycles=6),
        tmp_path / "s",
        Saboteur(board),
    )

    made, cycles = read_soak(tmp_path / "s")
    assert outcomes(cycles) == [
        "ok", "crashed", "hung", "no-probe", "console-cut", "ok",
    ], cycles  # fmt: skip
    crashed = cycles[1]
    assert crashed.stage == "run"
    assert "sysrq triggered crash" in crashed.why
    console = cycle_directory(tmp_path / "s", 2) / "console.log"
    assert b"Kernel panic - not syncing" in console.read_bytes()
    recording = open_recording(cycle_directory(tmp_path / "s", 2) / "recording")
    assert any(problem.fatal for problem in recording.manifest.problems)
    assert not board.power.is_on()
    result = summarize(made, cycles)
    assert {item.kind for item in result.kinds} >= {"crashed", "hung", "no-probe", "console-cut"}
    assert result.failures.of == 6
    assert result.consoles.cut == 1


def test_a_board_that_never_boots_is_given_up_in_its_time(tmp_path: Path) -> None:
    board = open_board(BOARD, BoardOptions(kernel_args=NEVER_UP))
    wanted = plan(boot_timeout_s=5.0, kernel_args=list(NEVER_UP))
    began = time.monotonic()
    ended = soak(board, wanted, Goal(cycles=50, give_up=2), tmp_path / "s", Watcher())
    assert ended == "given up"
    assert time.monotonic() - began < 60
    _, cycles = read_soak(tmp_path / "s")
    assert [(item.outcome, item.stage) for item in cycles] == [("no-boot", "boot")] * 2
    assert "did not come up within 5 s" in cycles[0].why
    console = (cycle_directory(tmp_path / "s", 1) / "console.log").read_bytes()
    assert console.startswith(b"[    0.000000] Booting Linux")
    assert board.power is not None
    assert not board.power.is_on()


def test_a_board_that_cannot_be_switched_on_has_no_power(tmp_path: Path) -> None:
    board = open_board(BOARD, BoardOptions(cpus=1000))
    soak(board, plan(smp=1000), Goal(cycles=1), tmp_path / "s", Watcher())
    [cycle] = read_soak(tmp_path / "s")[1]
    assert (cycle.outcome, cycle.stage) == ("no-power", "power")
    assert "can have 1 to" in cycle.why


def test_a_board_without_a_supply_cannot_be_soaked(tmp_path: Path) -> None:
    with pytest.raises(BoardError, match="local has no supply that can be switched"):
        soak(
            open_board("local"),
            plan(board="local"),
            Goal(cycles=1),
            tmp_path / "s",
            Watcher(),
        )


def soak_command(directory: Path, *more: str) -> list[str]:
    return [
        *(sys.executable, "-m", "whylate", "board", "soak", BOARD, "--run-for", "1s"),
        *("-o", str(directory), *more),
    ]


def has_begun(directory: Path, number: int) -> bool:
    console = cycle_directory(directory, number) / "console.log"
    return console.exists() and console.stat().st_size > 1000


def test_a_soak_whose_host_was_killed_goes_on(tmp_path: Path) -> None:
    directory = tmp_path / "s"
    command = soak_command(directory, "--cycles", "2", "--keep", "failures")
    host = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        assert came_true(lambda: has_begun(directory, 2), 90)
    finally:
        host.kill()
        host.wait()
    board = open_board(BOARD)
    assert board.power is not None
    # The board went with its host.
    assert came_true(lambda: not board.power or not board.power.is_on(), 5)
    done = starts.run(command, capture_output=True, text=True, timeout=120, check=False)
    _, cycles = read_soak(directory)
    assert outcomes(cycles) == ["ok", "interrupted", "ok"], done.stderr
    assert "2, and 1 interrupted by us" in done.stdout
    if all(item.outcome != "run-failed" for item in cycles):
        assert done.returncode == 0
        assert "0 of 2: rate below 85 % (95 %)" in done.stdout
    assert [item.session for item in cycles] == [1, 1, 2]
    again = starts.run(
        [*command[:5], "--show", str(directory)], capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert again.stdout == done.stdout


def test_ctrl_c_cuts_the_power_and_ends_in_good_order(tmp_path: Path) -> None:
    directory = tmp_path / "s"
    # While the board boots, which it will not end.
    words = [word for argument in NEVER_UP for word in ("--kernel-arg", argument)]
    host = subprocess.Popen(
        soak_command(directory, "--for", "8h", *words),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert came_true(lambda: has_begun(directory, 1), 60)
        host.send_signal(signal.SIGINT)
        output, error = host.communicate(timeout=20)
    finally:
        host.kill()
        host.wait()
    assert host.returncode == 3
    assert re.search(rb"The soak was ended early: \d+ s of 8 h 0 min\.", output)
    assert b"Traceback" not in error
    assert [item.outcome for item in read_soak(directory)[1]] == ["interrupted"]
    board = QemuBoard(virtual_board(BOARD), VirtualOptions())
    assert not board.power.is_on()
