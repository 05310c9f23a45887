"""A selftest of boards whose supply cannot tell, or does not tell the truth: left as found."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from whylate.boards.board import notify_nobody
from whylate.boards.ready import held
from whylate.run.selftest import StepResult, selftest

pytest.importorskip("labgrid")
sys.path.append(str(Path(__file__).parents[1] / "bench"))

from bench_boards import ProcessBoard, shell_board
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import Strip, strip
from labgrid.driver import NetworkPowerDriver

from whylate.boards.labgrid import supply
from whylate.boards.labgrid.board import BenchOptions, LabgridBoard
from whylate.boards.labgrid.line import DriverChannel
from whylate.boards.labgrid.open import labgrid_board

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root")


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    monkeypatch.setattr(supply, "SWITCH_S", 0.5)
    monkeypatch.setattr(supply, "DIE_S", 1.0)


@pytest.fixture
def line() -> Iterator[SerialLine]:
    made = SerialLine()
    yield made
    made.close()


@pytest.fixture
def machine(line: SerialLine) -> ProcessBoard:
    return shell_board(line)


@pytest.fixture
def plugged(machine: ProcessBoard) -> Iterator[Strip]:
    with strip(machine) as made:
        # It reads back off, whatever it was told.
        made.outlets[1].honest = False
        yield made


@pytest.fixture
def board(tmp_path: Path, plugged: Strip, line: SerialLine) -> LabgridBoard:
    resources = [power_port(plugged), serial_port(line.path)]
    bench = environment(tmp_path, board7=target(resources=resources, drivers=[POWER, SERIAL]))
    return labgrid_board("board7", bench, options=BenchOptions(boot_s=20.0))


@pytest.fixture(params=["says no", "cannot tell"])
def message(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "cannot tell":
        monkeypatch.delattr(NetworkPowerDriver, "get")
    return str(request.param)


def tried(board: LabgridBoard) -> dict[str, StepResult]:
    with held(board, notify_nobody):
        return {item.name: item for item in selftest(board, notify_nobody)}


@pytest.mark.usefixtures("message")
def test_a_board_that_is_up_is_found_by_its_answer_and_left_on(
    board: LabgridBoard, machine: ProcessBoard, plugged: Strip
) -> None:
    machine.power_on()
    result = tried(board)
    assert result["power"].why == "it is on, and is left on"
    assert result["probe"].state == "ok", result
    assert "power off" not in result
    assert machine.running
    assert plugged.outlets[1].history == []


def test_a_board_that_is_off_is_off_again(
    board: LabgridBoard, machine: ProcessBoard, plugged: Strip, message: str
) -> None:
    result = tried(board)
    assert result["boot"].state == "ok", result
    if message == "says no":
        assert result["power"].why == "it is off"
        assert result["power off"].state == "ok"
    else:
        assert "unknown whether it is on" in result["power"].why
        assert result["power off"].state == "not tried"
    assert not machine.running
    first, *_, last = (on for _, on in plugged.outlets[1].history)
    assert (first, last) == (True, False)


def test_a_supply_is_not_asked_over_a_console_on_which_we_work(
    board: LabgridBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "ECHO_S", 0.0)
    monkeypatch.delattr(NetworkPowerDriver, "get")
    with held(board, notify_nobody):
        board.boot(notify_nobody)
        assert board.power is not None
        typed: list[bytes] = []
        with monkeypatch.context() as patched:
            patched.setattr(DriverChannel, "write", lambda _, data: typed.append(bytes(data)))
            assert board.power.is_on() is None
        assert typed == []
