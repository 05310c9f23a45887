"""A soak through labgrid's own drivers: a power strip with HTTP, and a serial line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from soak_plans import wakeup_soak
from whylate.run.progress import Quiet
from whylate.soak.carry_out import Goal, soak
from whylate.soak.journal import cycle_directory, read_soak
from whylate.soak.model import Cycle

pytest.importorskip("labgrid")
sys.path.append(str(Path(__file__).parents[1] / "bench"))

from bench_boards import shell_board
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_supplies import strip

from whylate.boards.labgrid import supply
from whylate.boards.labgrid.board import BenchOptions
from whylate.boards.labgrid.open import labgrid_board

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root")


class Watcher(Quiet):
    """Does something when a cycle begins, and when it ends."""

    def __init__(self, begins: Callable[[int], None], ended: Callable[[int], None]) -> None:
        self._begins = begins
        self._ended = ended

    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None:
        del so_far
        self._begins(number)

    def cycle_ended(self, cycle: Cycle) -> None:
        self._ended(cycle.cycle)


def test_a_relay_that_sticks_for_a_while_is_counted_and_the_soak_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHYLATE_RUN", str(tmp_path / "run"))
    monkeypatch.setattr(supply, "SWITCH_S", 0.5)
    monkeypatch.setattr(supply, "DIE_S", 0.5)
    line = SerialLine()
    on_at_the_end: list[bool] = []
    try:
        with strip(shell_board(line)) as plugged:
            outlet = plugged.outlets[1]
            # Its relay reads back off; only the board behind it shows that it is on.
            outlet.honest = False

            def weld(number: int) -> None:
                outlet.welded = number == 2

            def part(number: int) -> None:
                on_at_the_end.append(bool(outlet.load.running))  # type: ignore[attr-defined]
                outlet.welded = number == 2

            bench = environment(
                tmp_path,
                board7=target(
                    resources=[power_port(plugged), serial_port(line.path)],
                    drivers=[POWER, SERIAL],
                ),
            )
            board = labgrid_board("board7", bench, options=BenchOptions(boot_s=20.0))
            plan = wakeup_soak()
            soak(board, plan, Goal(cycles=3), tmp_path / "s", Watcher(weld, part))
            assert not outlet.load.running  # type: ignore[attr-defined]
    finally:
        line.close()
    _, cycles = read_soak(tmp_path / "s")
    assert [(item.outcome, item.stage) for item in cycles] == [
        ("ok", "done"),
        ("no-power", "off"),
        ("ok", "done"),
    ], cycles
    assert "the relay sticks" in cycles[1].why
    assert on_at_the_end == [False, True, False]
    for item in cycles:
        # Each log is that of its own cycle, though the bench's goes on.
        log = (cycle_directory(tmp_path / "s", item.cycle) / "console.log").read_bytes()
        assert log.startswith(b"[    0.000000] Linux version 0.0.0 (bench)")
        assert log.count(b"Linux version") == 1
