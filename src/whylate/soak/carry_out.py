"""A soak: boot, run, switch off, again, for a number of cycles or a time; whatever happens."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from whylate.boards.board import Board, BoardError, Power
from whylate.run.progress import Observer
from whylate.soak.cycle import CycleRunner
from whylate.soak.journal import SoakJournal
from whylate.soak.model import Cycle, SoakPlan

#: So many failures one after the other end a soak: nobody is coming to help the board.
GIVE_UP = 20
#: After a failure, so that one that comes at once does not come a thousand times.
PAUSE_S = 1.0
_LOOK_S = 0.1

#: Why a soak came to its end.
Ended = Literal["done", "ended early", "given up"]


@dataclass(frozen=True)
class Goal:
    """When a soak is over: after so many cycles that say something, or so many seconds of them."""

    cycles: int | None = None
    seconds: float | None = None
    #: Failures one after the other that end it.
    give_up: int = GIVE_UP

    def reached(self, cycles: Sequence[Cycle]) -> bool:
        """Whether these cycles are enough. Those that we interrupted count for time alone."""
        if self.cycles is not None and count_judged(cycles) >= self.cycles:
            return True
        return self.seconds is not None and sum(one.total_s for one in cycles) >= self.seconds


class SoakObserver(Observer, Protocol):
    """Whoever shows a soak to the user."""

    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None:
        """Say that the next cycle begins."""

    def cycle_ended(self, cycle: Cycle) -> None:
        """Say that a cycle is over; it is on the disk."""


def count_judged(cycles: Sequence[Cycle]) -> int:
    """Return how many cycles say something about the board."""
    return sum(one.outcome != "interrupted" for one in cycles)


def soak(
    board: Board,
    plan: SoakPlan,
    goal: Goal,
    directory: Path,
    observer: SoakObserver,
    stopped: Callable[[], bool] = lambda: False,
) -> Ended:
    """Carry cycles out until the goal is reached; a soak in `directory` goes on where it was.

    The board is held from the first to the last of them, and left on if it was found on; off where
    that cannot be told. When `stopped` returns true, the power is cut and the soak ends.
    Raises BoardError for a board that cannot be held or has no supply, RequestError for a
    directory with something else, and DiskError.
    """
    with SoakJournal(directory, plan) as journal:
        if goal.reached(journal.cycles):
            return "done"
        try:
            board.hold(observer.log)
            power = board.power
            if power is None:
                raise BoardError(
                    f"{board.name} has no supply that can be switched, and cannot be soaked"
                )
            found_on = journal.found(power.is_on())
            if found_on is None:
                observer.log(
                    f"whether {board.name} is on cannot be told: it will be off at the end"
                )
            try:
                observer.log(f"switching {board.name} off")
                power.off()
                return _cycles(board, goal, journal, observer, stopped)
            finally:
                _leave(board, power, found_on=bool(found_on))
        finally:
            board.close()


def _cycles(
    board: Board,
    goal: Goal,
    journal: SoakJournal,
    observer: SoakObserver,
    stopped: Callable[[], bool],
) -> Ended:
    failures = 0
    while not goal.reached(journal.cycles):
        if failures >= goal.give_up:
            return "given up"
        _wait(journal.plan.off_s + (PAUSE_S if failures else 0.0), stopped)
        if stopped():
            return "ended early"
        number, place = journal.begin()
        observer.cycle_begins(number, journal.cycles)
        runner = CycleRunner(
            board,
            journal.plan,
            place,
            observer,
            stopped,
            off_first=failures > 0,
            mark_seen=_mark_seen(journal.cycles),
        )
        cycle = runner.carry_out(number, journal.session)
        journal.append(cycle)
        observer.cycle_ended(cycle)
        failures = 0 if cycle.outcome in {"ok", "interrupted"} else failures + 1
    return "done"


def _mark_seen(cycles: Sequence[Cycle]) -> bool | None:
    """Whether what is printed on the board comes out of its console; None: not tried yet."""
    ends = [one.console.ends for one in cycles if one.console is not None and one.outcome == "ok"]
    return any(ends) if ends else None


def _leave(board: Board, power: Power, *, found_on: bool) -> None:
    """Leave the board on if it was, else off."""
    if not found_on:
        # A board that does not obey was counted as such.
        with contextlib.suppress(BoardError):
            if power.is_on() is not False:
                power.off()
        return
    board.stay_on()
    power.on()


def _wait(seconds: float, stopped: Callable[[], bool]) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0 and not stopped():
        time.sleep(min(left, _LOOK_S))
