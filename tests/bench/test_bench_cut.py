"""Boards with nothing but a console whose power another thread cuts, as a soak's guard does."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from bench_boards import hung_board, shell_board
from bench_files import POWER, SERIAL, environment, power_port, serial_port, target
from bench_line import SerialLine
from bench_requests import Watcher, request
from bench_supplies import Load, Strip, strip

from soak_plans import wakeup_soak
from whylate.boards.board import notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.labgrid import supply
from whylate.boards.labgrid.board import BenchOptions, LabgridBoard
from whylate.boards.labgrid.open import labgrid_board
from whylate.boards.ready import held, ready
from whylate.run.measure import measure
from whylate.run.progress import Quiet, Step
from whylate.soak.carry_out import Goal, soak
from whylate.soak.journal import read_soak
from whylate.soak.model import Cycle

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="its boards need PID namespaces: root"),
    pytest.mark.usefixtures("boards_that_die_at_once"),
]

OPTIONS = BenchOptions(boot_s=40.0)
#: Far less than a shell's patience with a board that is silent, and than a boot.
SOON_S = 8.0


@contextmanager
def on_the_bench(
    tmp_path: Path, line: SerialLine, load: Callable[[SerialLine], Load]
) -> Iterator[tuple[LabgridBoard, Strip]]:
    with strip(load(line)) as power:
        path = environment(
            tmp_path,
            board7=target(
                resources=[power_port(power), serial_port(line.path)], drivers=[POWER, SERIAL]
            ),
        )
        yield labgrid_board("board7", path, options=OPTIONS), power


class Cutter:
    """Switches a board off in a thread of its own, and says when."""

    def __init__(self, board: LabgridBoard, after_s: float) -> None:
        self._board = board
        self.error: BaseException | None = None
        self.asked_at = self.off_at = 0.0
        self._timer = threading.Timer(after_s, self.cut)
        self._timer.start()

    def cut(self) -> None:
        self.asked_at = time.monotonic()
        try:
            assert self._board.power is not None
            self._board.power.off()
        except BaseException as error:
            self.error = error
        self.off_at = time.monotonic()

    def join(self) -> None:
        """Wait for it; raises what went wrong."""
        self._timer.join()
        if self.error is not None:
            raise self.error


def test_a_command_ends_when_another_thread_cuts_the_power(
    tmp_path: Path, line: SerialLine
) -> None:
    with on_the_bench(tmp_path, line, shell_board) as (board, power), ready(board, notify_nobody):
        cutter = Cutter(board, 1.0)
        with pytest.raises(BoardError, match="the console's line is gone"):
            board.run(["sleep", "100"])
        heard_at = time.monotonic()
        cutter.join()
        assert not power.outlets[1].state
        # Neither waits for the other, nor for a shell that cannot answer.
        assert cutter.off_at - cutter.asked_at < SOON_S
        assert heard_at - cutter.asked_at < SOON_S
        began = time.monotonic()
        with pytest.raises(BoardError, match="was switched off meanwhile"):
            board.run(["true"])
        assert time.monotonic() - began < 1.0
        board.boot(notify_nobody)
        assert board.run(["echo", "again"]).output == b"again\n"
    assert not power.outlets[1].state


def test_a_boot_ends_when_another_thread_cuts_the_power(tmp_path: Path, line: SerialLine) -> None:
    with on_the_bench(tmp_path, line, hung_board) as (board, power), held(board, notify_nobody):
        cutter = Cutter(board, 2.0)
        with pytest.raises(BoardError, match="the console's line is gone"):
            board.boot(notify_nobody)
        assert time.monotonic() - cutter.asked_at < SOON_S
        cutter.join()
        assert not power.outlets[1].state


@pytest.mark.realtime
def test_a_run_ends_when_another_thread_cuts_the_power(tmp_path: Path, line: SerialLine) -> None:
    cutters: list[Cutter] = []
    with on_the_bench(tmp_path, line, shell_board) as (board, power), ready(board, notify_nobody):
        watcher = Watcher(lambda: cutters.append(Cutter(board, 0.0)))
        manifest = measure(board, request(120), tmp_path / "recording", watcher)
        watcher.join()
        [cutter] = cutters
        assert time.monotonic() - cutter.asked_at < SOON_S
        cutter.join()
        assert cutter.off_at - cutter.asked_at < SOON_S
        assert not power.outlets[1].state
    assert manifest.state == "cut"


def test_a_relay_that_sticks_is_seen_by_the_thread_that_cuts(
    tmp_path: Path, line: SerialLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supply, "ECHO_S", 0.7)

    class Babbling:
        """A board that says something all the time, even while a command runs."""

        def __init__(self, line: SerialLine) -> None:
            self._inner = shell_board(line)
            self._line = line
            self._off = threading.Event()
            self._thread: threading.Thread | None = None

        def power_on(self) -> None:
            self._inner.power_on()

        def talk(self) -> None:
            self._thread = threading.Thread(target=self._talk)
            self._thread.start()

        def _talk(self) -> None:
            while not self._off.wait(0.1):
                self._line.say(b"[   12.345678] still here\r\n")

        def power_off(self) -> None:
            self._off.set()
            if self._thread is not None:
                self._thread.join()
            self._inner.power_off()

    with on_the_bench(tmp_path, line, Babbling) as (board, power), ready(board, notify_nobody):
        load = power.outlets[1].load
        assert isinstance(load, Babbling)
        power.outlets[1].welded, power.outlets[1].honest = True, False
        load.talk()
        cutter = Cutter(board, 1.0)
        with pytest.raises(BoardError, match="the console's line is gone"):
            board.run(["sleep", "100"])
        with pytest.raises(BoardError, match="its console still answers"):
            cutter.join()
        power.outlets[1].welded = False


def test_the_shell_of_a_thread_that_has_ended_is_left_in_good_order(
    tmp_path: Path, line: SerialLine
) -> None:
    with on_the_bench(tmp_path, line, shell_board) as (board, power):
        power.outlets[1].switch(True)
        done: list[bytes] = []

        def work() -> None:
            done.append(board.run(["echo", "from a thread"]).output)

        with ready(board, notify_nobody):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
            assert board.power is not None
            board.power.off()
            # Its user has gone: nobody was hung up on.
            assert not board._cut
        assert done == [b"from a thread\n"]


class Leaver(Quiet):
    """A user who presses Ctrl-C a moment after a cycle's run has begun, or its boot."""

    def __init__(self, at: str) -> None:
        self._at = at
        self._since: float | None = None
        self.left_at = 0.0

    def step(self, step: Step) -> None:
        self.log(step.value)

    def log(self, text: str) -> None:
        if text.startswith(self._at):
            self._since = time.monotonic()

    def cycle_begins(self, number: int, so_far: object) -> None: ...

    def cycle_ended(self, cycle: Cycle) -> None: ...

    def leaves(self) -> bool:
        if self._since is None or time.monotonic() < self._since + 1.0:
            return False
        self.left_at = self.left_at or time.monotonic()
        return True


@pytest.mark.parametrize(("load", "at"), [(shell_board, "copying"), (hung_board, "waiting for")])
def test_a_soak_that_is_left_while_its_console_is_used_notes_the_cycle(
    tmp_path: Path,
    line: SerialLine,
    monkeypatch: pytest.MonkeyPatch,
    load: Callable[[SerialLine], Load],
    at: str,
) -> None:
    # The user's patience with a probe that is being copied; a boot gets none.
    monkeypatch.setattr("whylate.soak.cycle.LEAVE_S", 0.0)
    user = Leaver(at)
    plan = wakeup_soak()
    with on_the_bench(tmp_path, line, load) as (board, power):
        soak(board, plan, Goal(cycles=2), tmp_path / "s", user, user.leaves)
        assert time.monotonic() - user.left_at < 2 * SOON_S
        assert not power.outlets[1].state
    _, [cycle] = read_soak(tmp_path / "s")
    assert cycle.outcome == "interrupted"
