"""`whylate board off --all` on the simulated bench."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from bench_boards import shell_board
from bench_files import POWER, SERIAL, environment, power_port, serial_port, ssh_service, target
from bench_line import SerialLine
from bench_supplies import Strip, strip
from click.testing import CliRunner

from whylate.boards.board import notify_nobody
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.notes import noted_use, read_power, state_of
from whylate.boards.open import open_board
from whylate.boards.ready import held
from whylate.cli.board import command
from whylate.cli.board.power import OFF_REST_S

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root"),
    pytest.mark.usefixtures("boards_that_die_at_once"),
]

NAMES = ("board1", "board2", "board3", "board4")


@pytest.fixture
def lines() -> Iterator[list[SerialLine]]:
    made = [SerialLine() for _ in NAMES]
    yield made
    for line in made:
        line.close()


@pytest.fixture
def plugged(lines: list[SerialLine]) -> Iterator[Strip]:
    with strip(*map(shell_board, lines)) as made:
        yield made


def test_a_board_that_is_used_by_its_address_stays_on(
    tmp_path: Path, plugged: Strip, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path / "no-virtual-boards"))
    names = ("board1", "board2", "pc")
    bench = environment(
        tmp_path,
        **{
            name: target(
                resources=[power_port(plugged, index), ssh_service(9000 + index)], drivers=[POWER]
            )
            for index, name in enumerate(names, 1)
        },
    )
    for index in (1, 2, 3):
        plugged.outlets[index].switch(True)
    with noted_use(open_board("ssh://root@localhost:9001")):
        done = CliRunner().invoke(command, ["off", "--all", "--env", str(bench)])
    assert done.exit_code == 3
    assert f"board1 is used as ssh://root@localhost:9001 by process {os.getpid()}" in done.stderr
    assert "pc: the one of the bench is not switched" in done.stderr
    assert done.stdout.startswith("board2: off")
    assert [outlet.state for outlet in plugged.outlets.values()][:3] == [True, False, True]
    done = CliRunner().invoke(command, ["off", "--all", "--env", str(bench)])
    assert done.exit_code == 3, "of the name alone"
    assert not plugged.outlets[1].state


def test_all_boards_go_off_one_after_the_other_with_a_line_each(
    tmp_path: Path, plugged: Strip, lines: list[SerialLine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_LAB", str(tmp_path / "no-virtual-boards"))
    bench = environment(
        tmp_path,
        **{
            name: target(
                resources=[power_port(plugged, index), serial_port(line.path)],
                drivers=[POWER, SERIAL],
            )
            for index, (name, line) in enumerate(zip(NAMES, lines, strict=True), 1)
        },
    )
    for index in (1, 2, 3):
        plugged.outlets[index].switch(True)
    with ExitStack() as somebody:
        somebody.enter_context(held(labgrid_board("board3", bench), notify_nobody))
        done = CliRunner().invoke(command, ["off", "--all", "--env", str(bench)])
    assert done.exit_code == 3
    printed = done.stdout.splitlines()
    assert [line.split(" (")[0] for line in printed] == [
        "board1: off", "board2: off", "board4: was off"
    ]  # fmt: skip
    assert "board3: the board board3 is taken: process" in done.stderr
    assert [outlet.state for outlet in plugged.outlets.values()] == [False, False, True, False]
    first, second = (plugged.outlets[index].history[-1][0] for index in (1, 2))
    assert second - first >= OFF_REST_S
    switched = read_power(state_of(labgrid_board("board1", bench)))
    assert switched is not None
    assert not switched.on
