"""The two ways to a board on the bench, SSH and the console, while the board behaves and not."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest
from bench_boards import (
    BabblingBoard,
    ProcessBoard,
    free_port,
    shell_board,
    ssh_server_board,
)
from bench_files import POWER, SERIAL, environment, power_port, serial_port, ssh_service, target
from bench_line import SerialLine
from bench_requests import Watcher, request, size_of
from bench_supplies import Strip, strip

from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.labgrid import board as board_module
from whylate.boards.labgrid import supply
from whylate.boards.labgrid.board import BenchOptions, LabgridBoard
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.ready import ready
from whylate.recording.reader import read_manifest
from whylate.run.measure import measure

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root")

OPTIONS = BenchOptions(boot_s=20.0, silence_s=4.0)


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    monkeypatch.setattr(supply, "DIE_S", 1.0)
    monkeypatch.setattr(supply, "ECHO_S", 0.3)


@pytest.fixture
def server(tmp_path: Path) -> tuple[ProcessBoard, int]:
    port = free_port()
    return ssh_server_board(tmp_path, port), port


def over_ssh(tmp_path: Path, power: Strip, port: int) -> LabgridBoard:
    path = environment(
        tmp_path,
        board7=target(
            resources=[power_port(power), ssh_service(port)],
            drivers=[POWER, f"SSHDriver: {{keyfile: {tmp_path / 'id'}}}"],
        ),
    )
    return labgrid_board("board7", path, options=OPTIONS)


def over_its_console(tmp_path: Path, power: Strip, line: SerialLine) -> LabgridBoard:
    path = environment(
        tmp_path,
        board7=target(
            resources=[power_port(power), serial_port(line.path)], drivers=[POWER, SERIAL]
        ),
    )
    return labgrid_board("board7", path, options=OPTIONS)


def test_a_board_with_an_ssh_server_is_waited_for_and_used_over_ssh(
    tmp_path: Path, server: tuple[ProcessBoard, int]
) -> None:
    with strip(server[0]) as power:
        with ready(over_ssh(tmp_path, power, server[1]), notify_nobody) as board:
            done = board.run(["cat"], data=b"\0raw\xff", timeout_s=10)
            assert (done.status, done.output) == (0, b"\0raw\xff")
        assert not power.outlets[1].state


def test_a_board_that_was_on_has_no_boots_time_to_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_module, "ON_S", 1.0)
    path = environment(tmp_path, board7=target(resources=[ssh_service(free_port())], drivers=[]))
    message = r"board7 did not come up within 1 s: nothing answers at .* Connection refused\)"
    with (
        pytest.raises(BoardError, match=message),
        ready(labgrid_board("board7", path, options=OPTIONS), notify_nobody),
    ):
        pass


def test_a_board_whose_ssh_server_lives_on_is_found_to_be_still_on(
    tmp_path: Path, server: tuple[ProcessBoard, int]
) -> None:
    with (
        strip(server[0]) as power,
        ready(over_ssh(tmp_path, power, server[1]), notify_nobody) as board,
    ):
        power.outlets[1].welded, power.outlets[1].honest = True, False
        assert board.power is not None
        with pytest.raises(BoardError, match="its SSH server still answers"):
            board.power.off()
        power.outlets[1].welded = False


@pytest.mark.realtime
def test_a_run_over_ssh_that_loses_its_board_is_kept_without_a_verdict(
    tmp_path: Path, server: tuple[ProcessBoard, int]
) -> None:
    watcher = Watcher(server[0].power_off)
    with (
        strip(server[0]) as power,
        ready(over_ssh(tmp_path, power, server[1]), notify_nobody) as board,
    ):
        manifest = measure(board, request(60), tmp_path / "recording", watcher)
        watcher.join()
    assert manifest.state == "cut"
    assert [problem.fatal for problem in manifest.problems] == [True]
    assert read_manifest(tmp_path / "recording").state == "cut"


@pytest.mark.realtime
def test_a_run_over_the_console_is_whole(tmp_path: Path, line: SerialLine) -> None:
    with (
        strip(shell_board(line)) as power,
        ready(over_its_console(tmp_path, power, line), notify_nobody) as board,
    ):
        manifest = measure(board, request(1), tmp_path / "recording", Watcher())
        assert board.run(["echo", "back"]).output == b"back\n"
    assert manifest.state == "complete"
    assert not manifest.problems
    assert sum(cpu.seen + cpu.overrun for cpu in manifest.cpus) >= 1000


@pytest.mark.realtime
def test_the_probe_is_gone_from_a_board_that_stays_on(tmp_path: Path, line: SerialLine) -> None:
    plug = shell_board(line)
    with strip(plug) as power:
        power.outlets[1].switch(True)
        with ready(over_its_console(tmp_path, power, line), notify_nobody) as board:
            measure(board, request(0.2), tmp_path / "recording", Watcher())
            assert plug.files("run/whylate*")
        assert power.outlets[1].state
        assert not plug.files("run/whylate*")


@pytest.mark.realtime
def test_a_run_over_the_console_that_loses_its_board_is_kept_without_a_verdict(
    tmp_path: Path, line: SerialLine
) -> None:
    plug = shell_board(line)
    cut_at: list[float] = []

    def cut() -> None:
        cut_at.append(time.monotonic())
        plug.power_off()

    watcher = Watcher(cut)
    with strip(plug) as power:
        with ready(over_its_console(tmp_path, power, line), notify_nobody) as board:
            manifest = measure(board, request(120), tmp_path / "recording", watcher)
            watcher.join()
            # The silence of 4 s, and no parting from a board that is not there: that takes 50 s.
            assert time.monotonic() - cut_at[0] < 25
        assert not power.outlets[1].state
    assert manifest.state == "cut"
    assert [problem.fatal for problem in manifest.problems] == [True]
    assert sum(cpu.seen for cpu in manifest.cpus) > 200


def test_a_console_that_babbles_is_drained_and_refused(tmp_path: Path, line: SerialLine) -> None:
    with strip(BabblingBoard(line, 1)) as power:
        board = over_its_console(tmp_path, power, line)
        board = LabgridBoard("board7", board._source, replace(OPTIONS, boot_s=3.0))
        with pytest.raises(BoardError) as caught, ready(board, notify_nobody):
            pass
        assert not power.outlets[1].state
        log = next((tmp_path / "run").glob("lg-board7-*/console.log"))
        assert size_of(log) > 10_000
        assert str(caught.value).isprintable()


def test_what_a_babbling_console_said_last_is_shown_as_one_safe_line(
    tmp_path: Path, line: SerialLine
) -> None:
    with strip(BabblingBoard(line, 3)) as power:
        path = environment(
            tmp_path,
            board7=target(
                resources=[power_port(power), serial_port(line.path), ssh_service(free_port())],
                drivers=[POWER, SERIAL],
            ),
        )
        board = labgrid_board("board7", path, options=replace(OPTIONS, boot_s=2.0))
        words = "its console's last words: "
        with pytest.raises(BoardError, match=words) as caught, ready(board, notify_nobody):
            pass
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 800
