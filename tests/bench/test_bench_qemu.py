"""A whole board on the bench: QEMU with Debian's kernel behind a power strip and a serial line."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_boards import QemuOnTheBench
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_requests import Watcher, request
from bench_supplies import strip

from whylate.boards.board import notify_nobody
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.qemu.arguments import Start, arguments
from whylate.boards.ready import ready
from whylate.lab.description import virtual_board
from whylate.lab.image import build, is_fetched
from whylate.lab.qemu import find_qemu
from whylate.run.measure import measure

BOARD = virtual_board("virt-arm64-rt")
QEMU = find_qemu(BOARD)

pytestmark = [
    pytest.mark.qemu,
    pytest.mark.skipif(QEMU is None, reason=f"needs {BOARD.description.qemu}"),
    pytest.mark.skipif(
        not is_fetched(BOARD), reason=f"needs the image of {BOARD.name}: whylate lab build"
    ),
]


def qemu_command(directory: Path) -> list[str]:
    """QEMU as whylate itself starts it: one CPU, its console on a socket in `directory`."""
    assert QEMU is not None
    image = build(BOARD, notify_nobody)
    return arguments(BOARD, QEMU, image, image.initrd, Start(cpus=1, directory=directory))


def test_a_board_is_booted_measured_and_lost(
    tmp_path: Path, line: SerialLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    plug = QemuOnTheBench(qemu_command(tmp_path), tmp_path / "console", line)
    shown: list[str] = []
    with strip(plug) as power:
        path = environment(
            tmp_path,
            board7=target(
                resources=[power_port(power), serial_port(line.path)], drivers=[POWER, SERIAL]
            ),
        )
        options = BenchOptions(boot_s=90.0, silence_s=8.0)
        with ready(labgrid_board("board7", path, options=options), shown.append) as board:
            assert board.run(["uname", "-m"]).output == b"aarch64\n"
            assert board.console is not None
            assert b"Linux version 6." in board.console.log.read_bytes()

            whole = measure(board, request(2), tmp_path / "whole", Watcher())
            assert whole.state == "complete"
            assert not [problem for problem in whole.problems if problem.fatal]
            assert next(fact for fact in whole.facts if fact.name == "machine").value

            # Its supply is pulled in the middle of the next one.
            watcher = Watcher(plug.power_off)
            cut = measure(board, request(120), tmp_path / "cut", watcher)
            watcher.join()
            assert cut.state == "cut"
            assert [problem.fatal for problem in cut.problems] == [True]
            assert sum(cpu.seen for cpu in cut.cpus) > 200
        assert not plug.running
        assert not power.outlets[1].state
