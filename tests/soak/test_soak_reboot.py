"""Soaks whose cycles reboot the board by a command or its watchdog, while its power stays on."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from soak_boards import PaperBoard, recording

from own_boards import own_boards
from soak_plans import wakeup_soak
from whylate.boards.board import Finished, notify_nobody
from whylate.boards.qemu.board import QemuBoard, VirtualOptions
from whylate.cli.board import command as board_group
from whylate.lab.cache import cache_directory
from whylate.lab.description import virtual_board
from whylate.lab.network import SERVICES
from whylate.lab.packages import Packages, contents, read_member
from whylate.run.errors import RequestError
from whylate.run.progress import Quiet
from whylate.soak import cycle as soak_cycle
from whylate.soak import run_result
from whylate.soak.carry_out import Goal, soak
from whylate.soak.journal import cycle_directory, read_soak
from whylate.soak.kernel_log import KernelLog
from whylate.soak.model import Cycle

BOARD = "virt-arm64"


class Watcher(Quiet):
    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None: ...

    def cycle_ended(self, cycle: Cycle) -> None: ...


# -- on a virtual board


@pytest.fixture(scope="module")
def watchdog() -> bytes:
    """The module of the kernel's watchdog in software, which resets the machine as others do."""
    packages = Packages(cache_directory() / "packages", "arm64")
    kernel = packages.dependency("linux-image-arm64", "linux-image-", notify_nobody)
    with contents(packages.fetch(kernel, notify_nobody)) as files:
        for member in files:
            if member.name.endswith("/softdog.ko"):
                return read_member(files, member)
    raise AssertionError("the kernel has no softdog")


@pytest.mark.qemu
@pytest.mark.parametrize("means", [["reboot", "-f"], ["watchdog"]], ids=" ".join)
def test_each_cycle_after_the_first_reboots_the_board_while_its_power_stays_on(
    tmp_path: Path, watchdog: bytes, means: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    script = b"insmod /softdog.ko soft_margin=2\n"
    files = (("/softdog.ko", watchdog, 0o644), (SERVICES, script, 0o644))
    with own_boards(BOARD):
        board = QemuBoard(
            virtual_board(BOARD),
            VirtualOptions(cpus=1, files=files, kernel_args=("panic=0",)),
        )
        starts: list[str] = []
        start = board.machine.start

        def counted(*command: Any, **more: Any) -> None:
            starts.append("on")
            start(*command, **more)

        monkeypatch.setattr(board.machine, "start", counted)
        plan = wakeup_soak(BOARD, reboot=means, kernel_args=["panic=0"])
        assert soak(board, plan, Goal(cycles=2), tmp_path / "s", Watcher()) == "done"
        assert not board.power.is_on()
    first, second = read_soak(tmp_path / "s")[1]
    assert [first.outcome, second.outcome] == ["ok", "ok"], second
    assert starts == ["on"], "QEMU ran on"
    assert (first.reboot_s, second.boot_s) == (None, None)
    assert first.boot_s
    assert second.reboot_s
    assert second.console is not None
    assert second.console.whole
    log = (cycle_directory(tmp_path / "s", 2) / "console.log").read_bytes()
    assert log.count(b"Linux version") == 1
    assert b"end of cycle-1" not in log


# -- on a board of paper


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PaperBoard]:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    monkeypatch.setattr(soak_cycle, "measure", lambda *_: recording(tmp_path).manifest)
    monkeypatch.setattr(soak_cycle, "read_kernel_log", lambda *_: KernelLog())
    monkeypatch.setattr(run_result, "open_recording", recording)
    return PaperBoard(tmp_path)  # type: ignore[return-value]


def answer(
    board: PaperBoard, monkeypatch: pytest.MonkeyPatch, command: str, done: Finished
) -> None:
    """Have the board answer a command so."""
    run = board.run

    def answered(argv: Sequence[str], **more: Any) -> Finished:
        return done if argv[0] == command else run(argv, **more)

    monkeypatch.setattr(board, "run", answered)


def test_a_board_that_stays_up_has_not_rebooted_and_its_power_is_cut(
    board: PaperBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It answers all the time, with the boot id that it had.
    answer(board, monkeypatch, "cat", Finished(0, b"6c1d8a4e-the-same\n"))
    plan = wakeup_soak(reboot=["reboot", "-f"], boot_timeout_s=2.0)
    soak(board, plan, Goal(cycles=3), tmp_path / "s", Watcher())
    cycles = read_soak(tmp_path / "s")[1]
    assert [cycle.outcome for cycle in cycles] == ["ok", "reboot-failed", "ok"]
    assert cycles[1].stage == "reboot"
    assert "did not restart within 2 s: it is still up" in cycles[1].why
    # Off and on for the third cycle, which begins anew.
    assert board.power.history[1:4] == [True, False, False]
    assert [cycle.boot_s is not None for cycle in cycles] == [True, False, True]


def test_a_board_that_blocks_while_it_reboots_has_its_power_cut(
    board: PaperBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(soak_cycle, "_CALL_S", 0.5)
    answer(board, monkeypatch, "cat", Finished(0, b"6c1d8a4e-the-same\n"))
    cut = threading.Event()
    off = board.power.off

    def cutting() -> None:
        off()
        cut.set()

    def wait() -> None:
        cut.wait(20)

    def ended(_: Cycle) -> None:
        # From the first reboot on, booting waits for a board that never comes.
        cut.clear()
        board.waits = wait

    watcher = Watcher()
    monkeypatch.setattr(board.power, "off", cutting)
    monkeypatch.setattr(watcher, "cycle_ended", ended)
    plan = wakeup_soak(reboot=["reboot"], boot_timeout_s=1.0)
    soak(board, plan, Goal(cycles=2), tmp_path / "s", watcher)
    second = read_soak(tmp_path / "s")[1][1]
    assert second.outcome == "reboot-failed"
    assert second.why.startswith("it did not come back within 1 s")
    assert second.total_s < 10


def test_a_board_without_a_watchdog_is_refused_in_one_line(
    board: PaperBoard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(board, monkeypatch, "test", Finished(1, b""))
    plan = wakeup_soak(reboot=["watchdog"])
    with pytest.raises(RequestError, match="board7 has no /dev/watchdog: load the driver"):
        soak(board, plan, Goal(cycles=2), tmp_path / "s", Watcher())
    assert not board.power.state


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--reboot", ""], "--reboot has no command"),
        (["--reboot", "reboot", "--flash", __file__], "--flash switches the board off"),
        (["--recover", __file__], "--recover is the good image of --flash IMAGE"),
        (["--flash", __file__, "--compare", "a", "b"], "--flash is of one board"),
    ],
)
def test_options_that_exclude_each_other_are_refused(words: list[str], why: str) -> None:
    done = CliRunner().invoke(board_group, ["soak", "board7", "--cycles", "2", *words])
    assert done.exit_code == 2
    assert why in " ".join(done.output.replace("│", " ").split())
