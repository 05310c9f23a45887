"""Carry out a soak: boot, run, switch off, again, for a number of cycles or a time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from whylate.boards.board import Board, Power
from whylate.boards.boot.restart import Reboots
from whylate.boards.errors import BoardError
from whylate.boards.notes import noted_use
from whylate.run.errors import RequestError
from whylate.run.progress import Observer
from whylate.soak.card import SoakCard
from whylate.soak.cycle import CycleRunner
from whylate.soak.failure_kinds import CRASHES
from whylate.soak.journal import SoakJournal
from whylate.soak.model import Cycle, SoakPlan
from whylate.soak.recover import NOT_BACK, recover

#: So many consecutive failures end a soak: the board does not recover by itself.
GIVE_UP = 20
#: The pause after a failure, so that an immediate one does not repeat a thousand times.
PAUSE_S = 1.0
_LOOK_S = 0.1

#: Why a soak ended.
#: parked: the board did not boot, and could not be recovered either; its power is off.
Ended = Literal["done", "ended early", "given up", "at a crash", "parked"]


@dataclass(frozen=True)
class Goal:
    """When a soak is over: a number of judged cycles, or seconds, with those between cycles."""

    cycles: int | None = None
    seconds: float | None = None
    #: Consecutive failures that end it.
    give_up: int = GIVE_UP
    #: Whether the first crash ends it, with the board left as it is.
    until_crash: bool = False

    def reached(self, judged: int, spent_s: float) -> bool:
        """Whether so many cycles that were not interrupted, or so much time, are enough."""
        if self.cycles is not None and judged >= self.cycles:
            return True
        return self.seconds is not None and spent_s >= self.seconds


class Spent:
    """The time that a soak has taken; of earlier starts, the cycles and the power's pauses."""

    def __init__(self, cycles: Sequence[Cycle], off_s: float) -> None:
        self._before_s = sum(cycle.total_s + off_s for cycle in cycles)
        self._began_s = time.monotonic()

    @property
    def seconds(self) -> float:
        """Return the time up to now."""
        return self._before_s + time.monotonic() - self._began_s


class SoakObserver(Observer, Protocol):
    """Shows a soak to the user."""

    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None:
        """Show that the next cycle begins."""

    def cycle_ended(self, cycle: Cycle) -> None:
        """Show that a cycle is over; its line is on disk."""


def count_judged(cycles: Sequence[Cycle]) -> int:
    """Return how many cycles were not interrupted."""
    return sum(cycle.outcome != "interrupted" for cycle in cycles)


def soak(
    board: Board,
    plan: SoakPlan,
    goal: Goal,
    directory: Path,
    observer: SoakObserver,
    stopped: Callable[[], bool] = lambda: False,
) -> Ended:
    """Carry cycles out until the goal is reached; a soak in `directory` is resumed.

    The board is held throughout, and left on if it was on; if that is unknown, it is left off.
    After a crash that ends the soak it is left as it is; where it neither boots nor is recovered
    it is left off. With an image in the plan its card gets what it had, unless the soak ends early.
    When `stopped` returns true, the power is cut and the soak ends. Raises BoardError for a board
    that cannot be held or has no supply, RequestError for a directory with other contents, and
    DiskError.
    """
    with SoakJournal(directory, plan) as journal:
        # A killed host may have left the board on in its last cycle.
        spent = Spent(journal.cycles, plan.off_s)
        if goal.reached(count_judged(journal.cycles), spent.seconds) and not journal.recovered:
            return "done"
        try:
            board.hold(observer.log)
            power = board.power
            if power is None:
                raise BoardError(
                    f"{board.name} has no supply that can be switched: it cannot be soaked"
                )
            found_on = journal.record_initial_power(power.is_on())
            if found_on is None:
                observer.log(f"it is unknown whether {board.name} is on: it will be off at the end")
            card = SoakCard(board, plan, directory) if plan.flash is not None else None
            if plan.reboot and isinstance(board, Reboots):
                board.use_reboots()
            ended: Ended = "ended early"
            try:
                observer.log(f"switching {board.name} off")
                power.off()
                if goal.until_crash:
                    board.stay_on()
                with noted_use(board):
                    if card is not None:
                        card.keep(observer.log)
                    ended = _cycles(board, goal, spent, journal, observer, stopped, card)
                    if card is not None and ended in ("done", "given up"):
                        _leave_card(board, card, observer)
            finally:
                if not _has_ended_at_a_crash(journal):
                    on = bool(found_on) and ended != "parked"
                    _leave(board, power, found_on=on)
            return ended
        finally:
            board.close()


def _cycles(
    board: Board,
    goal: Goal,
    spent: Spent,
    journal: SoakJournal,
    observer: SoakObserver,
    stopped: Callable[[], bool],
    card: SoakCard | None,
) -> Ended:
    failures = 0
    #: Whether the former cycle left the board on, so that this one reboots it.
    up = False
    while not goal.reached(count_judged(journal.cycles), spent.seconds):
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
            leave_crashed=goal.until_crash,
            card=card,
            reboot=up,
        )
        cycle = runner.carry_out(number, journal.session)
        if card is not None and cycle.outcome in NOT_BACK:
            cycle = recover(board, card, cycle, journal.plan, place, observer, stopped)
        journal.append(cycle)
        observer.cycle_ended(cycle)
        if goal.until_crash and cycle.outcome in CRASHES:
            return "at a crash"
        if cycle.flash is not None and cycle.flash.recovered is False:
            return "parked"
        up = bool(journal.plan.reboot) and cycle.outcome == "ok"
        failures = 0 if cycle.outcome in {"ok", "interrupted"} else failures + 1
    return "done"


def _leave_card(board: Board, card: SoakCard, observer: SoakObserver) -> None:
    """Give the card back what it had; card.json shows where that failed."""
    try:
        card.leave(observer.log)
    except (BoardError, RequestError) as error:
        observer.log(f"the card of {board.name} is not as it was: {error}")


def _has_ended_at_a_crash(journal: SoakJournal) -> bool:
    """Whether the last cycle of this start left the board on, as it was after a crash."""
    last = journal.cycles[-1] if journal.cycles else None
    return last is not None and last.session == journal.session and last.left_on


def _mark_seen(cycles: Sequence[Cycle]) -> bool | None:
    """Whether the console shows what is printed on the board; None: not tried yet."""
    ends = [
        cycle.console.ends
        for cycle in cycles
        if cycle.console is not None and cycle.outcome == "ok"
    ]
    return any(ends) if ends else None


def _leave(board: Board, power: Power, *, found_on: bool) -> None:
    """Leave the board on if it was, else off."""
    if not found_on:
        # A board that does not switch off was counted as a failure.
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
