"""Carry a soak out and print it: of one board, or of two that are compared."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

import click

from whylate.boards.open import open_board
from whylate.boards.options import BoardOptions
from whylate.cli.board.soak_card import card_text
from whylate.cli.board.soak_table import duration, print_comparison, print_table
from whylate.cli.live import LiveView
from whylate.cli.print_json import print_json
from whylate.cli.study.run import VARIANT
from whylate.lab.description import names
from whylate.recording.plan import RunPlan
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied, apply_knobs
from whylate.run.knobs.variables import with_variables
from whylate.run.progress import Progress, Step
from whylate.soak.card import read_card_state
from whylate.soak.carry_out import Ended, Goal, count_judged
from whylate.soak.carry_out import soak as soak_board
from whylate.soak.comparison import (
    ComparisonPlan,
    Side,
    compare_soaks,
    is_comparison,
    read_comparison,
)
from whylate.soak.failure_kinds import FailureKind
from whylate.soak.journal import read_soak
from whylate.soak.model import Cycle, SoakPlan
from whylate.soak.summary import SoakSummary, summarize
from whylate.study.check import opened_name
from whylate.text import plain

#: Makes the plan of a soak of a board, from what is run and the board's options.
PlanFor = Callable[[str, RunPlan, BoardOptions], SoakPlan]


def finish(directory: Path, goal: Goal | None, ended: Ended | None, *, as_json: bool) -> NoReturn:
    """Print the soak or the comparison in a directory so far, and exit."""
    if is_comparison(directory):
        _finish_comparison(directory, goal, ended, as_json=as_json)
    plan, so_far = read_soak(directory)
    summary = summarize(plan, so_far)
    card = read_card_state(directory)
    if as_json:
        print_json({"plan": plan, "goal": goal, "ended": ended, "card": card, "summary": summary})
    else:
        on_card = card_text(plan, directory, card) if card is not None else ""
        print_table(summary, directory, _end_reason(summary, goal, ended, plan.board), on_card)
        if ended == "at a crash":
            click.echo(_how_to_attach(plan, directory, so_far[-1]))
    if summary.failures.count:
        sys.exit(1)
    # An incomplete soak has not passed.
    sys.exit(3 if ended == "ended early" or not summary.cycles else 0)


def _finish_comparison(
    directory: Path, goal: Goal | None, ended: str | None, *, as_json: bool
) -> NoReturn:
    summary = read_comparison(directory)
    if as_json:
        print_json({"goal": goal, "ended": ended, "summary": summary})
    else:
        early = ended in ("ended early", "given up")
        print_comparison(summary, directory, ended if early and ended else "")
    sys.exit(3 if summary.pairs.verdict == "inconclusive" else 0)


def compare(
    sides: tuple[Side, Side],
    counted: Sequence[FailureKind],
    goal: Goal,
    directory: Path,
    stopped: Callable[[], bool],
    *,
    as_json: bool,
) -> NoReturn:
    """Compare two sides, print the comparison, and exit."""
    plan = ComparisonPlan(sides=(sides[0].name, sides[1].name), counted=list(counted))
    with LiveView() as view:
        first, second = (
            _Watcher(view, goal, terminal=view.is_terminal, side=f"{plain(side.name, 40)}: ")
            for side in sides
        )
        ended = compare_soaks(sides, plan, goal, directory, (first, second), stopped)
    _finish_comparison(directory, goal, ended, as_json=as_json)


def sides_of(
    board: str | None,
    compared: tuple[str, str],
    run: RunPlan,
    options: BoardOptions,
    plan_for: PlanFor,
) -> tuple[Side, Side]:
    """Return the sides: two boards, or two variants of one; raises RequestError."""
    if compared[0] == compared[1]:
        raise RequestError("--compare takes two sides that differ")
    first, second = (_side(board, text, run, options, plan_for) for text in compared)
    if first.plan == second.plan:
        raise RequestError("both sides of --compare are the same: there is nothing to compare")
    return first, second


def _side(
    board: str | None, text: str, run: RunPlan, options: BoardOptions, plan_for: PlanFor
) -> Side:
    name, opened = text, board or text
    if board is not None:
        name, knobs = VARIANT.convert(text, None, None)
        applied = apply_knobs(run, knobs)
        _refuse_unsupported(board, name, applied)
        opened = opened_name(board, applied)
        run = with_variables(applied.plan, applied.variables)
        options = _with_knobs(options, applied)
    open_side = functools.partial(open_board, opened, options)
    open_side = functools.partial(open_board, opened, options)
    return Side(name, plan_for(opened, run, options), open_side)


def _refuse_unsupported(board: str, name: str, applied: Applied) -> None:
    """Raise RequestError for a knob that a soak cannot set."""
    boots = applied.kernel or applied.kernel_args or applied.image
    if applied.boot_files or applied.left_out or applied.commands:
        raise RequestError(
            f"side {name}: a soak sets no boot files, removes no words of the "
            "command line, and runs no command of a knob"
        )
    if boots and board not in names():
        raise RequestError(
            f"side {name} sets what {board} boots, which a soak does on virtual boards alone: "
            "compare two boards, or soak one image after the other"
        )


def _with_knobs(options: BoardOptions, applied: Applied) -> BoardOptions:
    return dataclasses.replace(
        options,
        kernel_args=(*options.kernel_args, *applied.kernel_args),
        root=Path(applied.image) if applied.image else options.root,
    )


def _how_to_attach(plan: SoakPlan, directory: Path, last: Cycle) -> str:
    """Return how to look at a board that was left as it was after a crash."""
    board, why = plain(plan.board, 80), plain(last.why, 200)
    if not last.left_on:
        return (
            f"{board} lost its power or reset after: {why}\n"
            "A board stays as it is after a panic if its kernel has panic=0"
        )
    return (
        f"{board} is on, as it was after: {why}\n"
        f"its console: whylate board console {board}\n"
        f"switch it off: whylate board off {board}\n"
        f"the same command with -o {plain(str(directory), 500)} resumes, and cuts its power first"
    )


def _end_reason(summary: SoakSummary, goal: Goal | None, ended: Ended | None, board: str) -> str:
    """Return why the soak ended before its goal; "" if it did not."""
    if goal is None or ended is None or ended == "done":
        return ""
    if ended == "at a crash":
        return "ended at a crash"
    if ended == "parked":
        why = summary.flashes.why_not if summary.flashes is not None else ""
        name = plain(board, 80)
        return f"ended: {name} was not recovered and is parked, its power is off: {plain(why, 300)}"
    if ended == "given up":
        return f"{ended}: {goal.give_up} cycles in succession failed"
    done = []
    if goal.cycles is not None:
        done.append(f"{summary.cycles} of {goal.cycles} cycles")
    if goal.seconds is not None:
        done.append(f"{duration(summary.seconds)} of {duration(goal.seconds)}")
    return f"{ended}: {', '.join(done)}. The same command resumes it"


def carry_out(
    plan: SoakPlan,
    goal: Goal,
    directory: Path,
    options: BoardOptions,
    stopped: Callable[[], bool],
) -> Ended:
    """Carry the soak out; how it ended."""
    options = dataclasses.replace(options, kernel_args=tuple(plan.kernel_args))
    opened = open_board(plan.board, options)
    with LiveView() as view:
        watcher = _Watcher(view, goal, terminal=view.is_terminal)
        return soak_board(opened, plan, goal, directory, watcher, stopped)


class _Watcher:
    """Shows a soak: on a terminal what happens now, elsewhere a line for each cycle."""

    def __init__(self, view: LiveView, goal: Goal, *, terminal: bool, side: str = "") -> None:
        self._view = view
        self._goal = goal
        self._terminal = terminal
        self._side = side
        self._where = ""

    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None:
        """Show which cycle begins; interrupted ones are not counted."""
        del number
        of = f" of {self._goal.cycles}" if self._goal.cycles is not None else ""
        done = count_judged(so_far)
        failed = sum(cycle.outcome not in {"ok", "interrupted"} for cycle in so_far)
        self._where = f"{self._side}cycle {done + 1}{of}, {failed} failed: "

    def cycle_ended(self, cycle: Cycle) -> None:
        """Show the outcome of a cycle."""
        if not self._terminal:
            booted = f", booted in {cycle.boot_s:.1f} s" if cycle.boot_s is not None else ""
            booted += f", rebooted in {cycle.reboot_s:.1f} s" if cycle.reboot_s is not None else ""
            booted += f", ran for {cycle.run_s:.1f} s" if cycle.run_s is not None else ""
            booted += f", begun late {cycle.late_starts} times" if cycle.late_starts else ""
            why = f": {plain(cycle.why, 200)}" if cycle.why else ""
            why += "; recovered" if cycle.flash is not None and cycle.flash.recovered else ""
            with contextlib.suppress(OSError):
                click.echo(
                    f"whylate: {self._side}cycle {cycle.cycle}: {cycle.outcome}{booted}{why}",
                    err=True,
                )

    def step(self, step: Step) -> None:
        """Show that a step of the run begins."""
        self.log(step.value)

    def log(self, text: str) -> None:
        """Show what the board does."""
        if self._terminal or not self._where:
            self._view.log(f"{self._where}{text}")

    def progress(self, progress: Progress) -> None:
        """Show how far the measurement is."""
        if self._terminal:
            self._view.log(f"{self._where}measuring, {progress.elapsed_s:.0f} s")
