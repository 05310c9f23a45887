"""Boards on labgrid's own drivers: switched, believed, and left as they were found."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from bench_boards import free_port, hung_board, shell_board
from bench_files import POWER, SERIAL, environment, power_port, serial_port, ssh_service, target
from bench_line import SerialLine
from bench_supplies import Outlet, Strip, relay_card, strip

from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.boards.labgrid import calls, supply
from whylate.boards.labgrid.board import BenchOptions, LabgridBoard
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.ready import ready

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root"),
    pytest.mark.usefixtures("boards_that_die_at_once"),
]

OPTIONS = BenchOptions(boot_s=20.0)


@pytest.fixture
def plugged(line: SerialLine) -> Iterator[Strip]:
    with strip(shell_board(line)) as made:
        yield made


def on_the_bench(tmp_path: Path, power: Strip, line: SerialLine, name: str = "board7") -> Path:
    return environment(
        tmp_path,
        **{
            name: target(
                resources=[power_port(power), serial_port(line.path)], drivers=[POWER, SERIAL]
            )
        },
    )


@pytest.fixture
def board(tmp_path: Path, plugged: Strip, line: SerialLine) -> LabgridBoard:
    return labgrid_board("board7", on_the_bench(tmp_path, plugged, line), options=OPTIONS)


def test_a_board_that_was_off_is_switched_on_used_and_off_again(
    board: LabgridBoard, plugged: Strip
) -> None:
    with ready(board, notify_nobody):
        assert plugged.outlets[1].state
        assert board.run(["echo", "it's", "$HOME"]).output == b"it's $HOME\n"
    assert not plugged.outlets[1].state


def test_a_board_that_was_on_stays_on(board: LabgridBoard, plugged: Strip) -> None:
    plugged.outlets[1].switch(True)
    with ready(board, notify_nobody):
        assert board.run(["true"]).status == 0
    assert plugged.outlets[1].state
    assert [on for _, on in plugged.outlets[1].history] == [True]


def test_what_its_console_prints_is_in_the_log_from_its_first_word(
    board: LabgridBoard,
) -> None:
    with ready(board, notify_nobody):
        assert board.console is not None
        assert b"Linux version 0.0.0 (bench)" in board.console.log.read_bytes()


def test_a_second_whylate_is_refused_with_the_name_of_the_first(
    board: LabgridBoard, tmp_path: Path
) -> None:
    board.hold(notify_nobody)
    try:
        second = labgrid_board("board7", tmp_path / "bench.yaml")
        with pytest.raises(BoardBusyError, match=f"process {os.getpid()}"):
            second.hold(notify_nobody)
    finally:
        board.close()


def test_a_relay_that_sticks_and_says_so_is_seen(board: LabgridBoard, plugged: Strip) -> None:
    plugged.outlets[1].welded = True
    with ready(board, notify_nobody):
        assert board.power is not None
        with pytest.raises(BoardError, match="reports that it is on: the relay sticks"):
            board.power.off()
        plugged.outlets[1].welded = False


def test_a_relay_that_sticks_and_says_that_it_is_off_is_found_by_the_board_behind(
    board: LabgridBoard, plugged: Strip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "ECHO_S", 0.7)
    plugged.outlets[1].welded, plugged.outlets[1].honest = True, False
    with ready(board, notify_nobody):
        assert board.power is not None
        with pytest.raises(BoardError, match=r"is still on although .* its console still answers"):
            board.power.off()
        plugged.outlets[1].welded = False


def test_leaving_a_board_that_does_not_go_off_is_an_error(
    board: LabgridBoard, plugged: Strip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "ECHO_S", 0.7)
    plugged.outlets[1].welded, plugged.outlets[1].honest = True, False
    with pytest.raises(BoardError, match="is still on"), ready(board, notify_nobody):
        pass
    # It was let go of all the same.
    plugged.outlets[1].welded = False
    board.hold(notify_nobody)
    board.close()


# labgrid's relay driver leaves a socket to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_board_on_a_usb_relay_is_switched_by_labgrids_own_driver(
    tmp_path: Path, line: SerialLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent / "fake_usb"))
    monkeypatch.setenv("WHYLATE_BENCH_RELAY", str(tmp_path / "relay"))
    outlet = Outlet(shell_board(line))
    path = environment(
        tmp_path,
        board7=target(
            resources=["BenchRelay: {index: 1}", serial_port(line.path)],
            drivers=["HIDRelayDriver: {}", "DigitalOutputPowerDriver: {}", SERIAL],
        ),
    )
    with relay_card(tmp_path / "relay", outlet):
        with ready(labgrid_board("board7", path, options=OPTIONS), notify_nobody) as board:
            assert outlet.state
            assert board.run(["echo", "relayed"]).output == b"relayed\n"
        assert not outlet.state
    gc.collect()


def test_a_board_that_never_boots_is_an_error_with_its_consoles_last_words(
    tmp_path: Path, line: SerialLine
) -> None:
    with strip(hung_board(line)) as power:
        path = on_the_bench(tmp_path, power, line)
        board = labgrid_board("board7", path, options=replace(OPTIONS, boot_s=3.0))
        with (
            pytest.raises(BoardError, match=r"did not come up within 3 s.*Unable to mount root fs"),
            ready(board, notify_nobody),
        ):
            pass
        assert not power.outlets[1].state


def test_a_board_whose_ssh_server_never_comes_up_is_an_error_with_its_consoles_last_words(
    tmp_path: Path, line: SerialLine
) -> None:
    with strip(hung_board(line)) as power:
        path = environment(
            tmp_path,
            board7=target(
                resources=[power_port(power), serial_port(line.path), ssh_service(free_port())],
                drivers=[POWER, SERIAL, "SSHDriver: {}"],
            ),
        )
        board = labgrid_board("board7", path, options=replace(OPTIONS, boot_s=2.0))
        message = (
            r"within 2 s: nothing answers at ssh://root@.* last words: .* Unable to mount root fs"
        )
        with pytest.raises(BoardError, match=message), ready(board, notify_nobody):
            pass
        assert not power.outlets[1].state


def test_a_board_that_was_on_and_hangs_is_left_on_for_whoever_is_at_work_on_it(
    tmp_path: Path, line: SerialLine
) -> None:
    with strip(hung_board(line)) as power:
        power.outlets[1].switch(True)
        path = on_the_bench(tmp_path, power, line)
        board = labgrid_board("board7", path, options=replace(OPTIONS, boot_s=3.0))
        with (
            pytest.raises(BoardError, match="it was on before: switch it off and on again"),
            ready(board, notify_nobody),
        ):
            pass
        assert power.outlets[1].state


def test_a_supply_that_does_not_answer_is_an_error_in_bounded_time(
    board: LabgridBoard, plugged: Strip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "CALL_S", 1.0)
    monkeypatch.setattr(calls, "CLEAN_UP_S", 1.0)
    plugged.hung.set()
    began = time.monotonic()
    with (
        pytest.raises(BoardError, match=r"reading its supply .* took longer than 1 s"),
        ready(board, notify_nobody),
    ):
        pass
    # Far from the 30 s and 10 s that it would be without what was set above.
    assert time.monotonic() - began < 10.0
    plugged.hung.clear()


@contextmanager
def two_boards(tmp_path: Path) -> Iterator[tuple[Strip, list[LabgridBoard]]]:
    lines = [SerialLine(), SerialLine()]
    try:
        with strip(*(shell_board(line) for line in lines)) as power:
            path = environment(
                tmp_path,
                **{
                    f"board{i}": target(
                        resources=[power_port(power, i), serial_port(line.path)],
                        drivers=[POWER, SERIAL],
                    )
                    for i, line in enumerate(lines, 1)
                },
            )
            yield power, [labgrid_board(f"board{i}", path, options=OPTIONS) for i in (1, 2)]
    finally:
        for line in lines:
            line.close()


def test_two_boards_are_held_side_by_side(tmp_path: Path) -> None:
    with (
        two_boards(tmp_path) as (power, (first, other)),
        ready(first, notify_nobody),
        ready(other, notify_nobody),
    ):
        assert first.run(["sh", "-c", "echo $$"]).status == other.run(["true"]).status == 0
        assert power.outlets[2].history[0][0] - power.outlets[1].history[0][0] >= 1.0
