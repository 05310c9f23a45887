"""`whylate board soak`: boot, run, switch off; again and again."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.board_options import board_options
from whylate.cli.parameter_types import DURATION, LOAD
from whylate.cli.print_json import print_json
from whylate.recording.plan import LoadPlan

if TYPE_CHECKING:
    from whylate.boards.open import BoardOptions
    from whylate.cli.live import LiveView
    from whylate.run.progress import Progress, Step
    from whylate.soak.carry_out import Ended, Goal
    from whylate.soak.model import Cycle, Keep, SoakPlan
    from whylate.soak.summary import SoakSummary


@click.command(name="soak")
@click.argument("board", required=False)
@click.option("--cycles", type=click.IntRange(1, 1_000_000), metavar="N",
              help="End after so many cycles.")  # fmt: skip
@click.option("--for", "for_ns", type=DURATION, help="End after this time, like 8h.")
@click.option("--run-for", "run_for_ns", type=DURATION, default="5s", show_default=True,
              help="How long each cycle measures.")  # fmt: skip
@click.option("--interval", "interval_ns", type=DURATION, default="1ms", show_default=True,
              help="Time between activations of a CPU.")  # fmt: skip
@click.option("--load", "loads", type=LOAD, multiple=True, metavar="KIND[:N]",
              help="Disturb, as in `whylate measure`. May be repeated.")  # fmt: skip
@click.option("--keep", type=click.Choice(["all", "failures"]), default="all", show_default=True,
              help="Which recordings to keep; console logs are kept in any case.")  # fmt: skip
@click.option("--boot-timeout", "boot_ns", type=DURATION, default="3min", show_default=True,
              help="A board that is not up after this has its power cut.")  # fmt: skip
@click.option("--off-for", "off_ns", type=DURATION,
              help="Time between off and on.  [default: 2s; none for virtual boards]",
              )  # fmt: skip
@click.option("--give-up", type=click.IntRange(1), default=20, show_default=True, metavar="N",
              help="End after so many failures one after the other.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="The soak's directory; one that is there already goes on.  "
              "[default: soaks/TIME-BOARD]")  # fmt: skip
@click.option("--show", type=click.Path(path_type=Path), metavar="DIR",
              help="Only show the soak in this directory.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
@board_options
def soak(
    board: str | None,
    cycles: int | None,
    for_ns: int | None,
    run_for_ns: int,
    interval_ns: int,
    loads: tuple[LoadPlan, ...],
    keep: Keep,
    boot_ns: int,
    off_ns: int | None,
    give_up: int,
    output: Path | None,
    show: Path | None,
    as_json: bool,
    options: BoardOptions,
) -> None:
    """Switch BOARD on, boot it, measure, cut its power; again, for --cycles N or --for 8h.

    A board that hangs is given up in its time and its power is cut. Each cycle leaves its
    console's log and its recording in DIR, and one line in DIR/cycles.jsonl. After the host was
    killed the same command with the same DIR goes on. Ctrl-C cuts the power and ends the soak.

    Exit status: 0 the soak came to its end and no cycle failed, 1 a cycle failed, 3 no cycle came
    to its end, or the soak was ended early and none had failed until then.
    """
    from whylate.cli.board.soak_table import print_table
    from whylate.soak.journal import read_soak
    from whylate.soak.summary import summarize

    goal: Goal | None = None
    ended: Ended | None = None
    if show is not None:
        if board is not None or output is not None:
            raise click.UsageError("--show DIR only shows: it takes no board and no -o")
        directory = show
    else:
        if board is None:
            raise click.UsageError("name a board, or say --show DIR")
        if cycles is None and for_ns is None:
            raise click.UsageError("say how long: --cycles N or --for TIME")
        from whylate.soak.carry_out import Goal
        from whylate.soak.model import SoakPlan

        directory = output if output is not None else _new_directory(board)
        off_s = off_ns / 1e9 if off_ns is not None else (0.0 if _is_virtual(board) else 2.0)
        plan = SoakPlan(
            board=board,
            run_for_ns=run_for_ns,
            interval_ns=interval_ns,
            loads=list(loads),
            smp=options.cpus,
            kernel_args=list(options.kernel_args),
            keep=keep,
            boot_timeout_s=boot_ns / 1e9,
            off_s=off_s,
        )
        goal = Goal(cycles, for_ns / 1e9 if for_ns is not None else None, give_up)
        ended = _carry_out(plan, goal, directory, options)
    plan, so_far = read_soak(directory)
    summary = summarize(plan, so_far)
    if as_json:
        print_json({"plan": plan, "goal": goal, "ended": ended, "summary": summary})
    else:
        print_table(summary, directory, _told(summary, goal, ended))
    if summary.failures.count:
        sys.exit(1)
    # What was not tried to its end has not passed.
    sys.exit(3 if ended == "ended early" or not summary.cycles else 0)


def _told(summary: SoakSummary, goal: Goal | None, ended: Ended | None) -> str:
    """Return why the soak ended, as a user is told; empty where it reached its goal."""
    from whylate.cli.board.soak_table import duration

    if goal is None or ended is None or ended == "done":
        return ""
    if ended == "given up":
        return f"{ended}: {goal.give_up} cycles one after the other failed"
    come = []
    if goal.cycles is not None:
        come.append(f"{summary.cycles} of {goal.cycles} cycles")
    if goal.seconds is not None:
        come.append(f"{duration(summary.seconds)} of {duration(goal.seconds)}")
    return f"{ended}: {', '.join(come)}. The same command goes on with it"


def _carry_out(plan: SoakPlan, goal: Goal, directory: Path, options: BoardOptions) -> Ended:
    """Carry the soak out; how it ended."""
    from whylate.boards.open import open_board
    from whylate.cli.interrupt import Interrupt
    from whylate.cli.live import LiveView
    from whylate.report.plain_console import plain_console
    from whylate.soak.carry_out import soak as soak_board

    console = plain_console(stderr=True)
    interrupt = Interrupt()
    opened = open_board(plan.board, options)
    with LiveView(console) as view:
        watcher = _Watcher(view, goal, terminal=console.is_terminal)
        return soak_board(opened, plan, goal, directory, watcher, interrupt.wanted)


class _Watcher:
    """Shows a soak: on a terminal what happens now, elsewhere a line for each cycle."""

    def __init__(self, view: LiveView, goal: Goal, *, terminal: bool) -> None:
        self._view = view
        self._goal = goal
        self._terminal = terminal
        self._where = ""

    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None:
        """Say which cycle begins; those that we interrupted are not counted."""
        del number
        from whylate.soak.carry_out import count_judged

        of = f" of {self._goal.cycles}" if self._goal.cycles is not None else ""
        done = count_judged(so_far)
        failed = sum(one.outcome not in {"ok", "interrupted"} for one in so_far)
        self._where = f"cycle {done + 1}{of}, {failed} failed: "

    def cycle_ended(self, cycle: Cycle) -> None:
        """Say what became of a cycle."""
        if not self._terminal:
            from whylate.text import plain

            booted = f", booted in {cycle.boot_s:.1f} s" if cycle.boot_s is not None else ""
            why = f": {plain(cycle.why, 200)}" if cycle.why else ""
            with contextlib.suppress(OSError):
                click.echo(f"whylate: cycle {cycle.cycle}: {cycle.outcome}{booted}{why}", err=True)

    def step(self, step: Step) -> None:
        """Show that a step of the run begins."""
        self.log(step.value)

    def log(self, text: str) -> None:
        """Show what the board does."""
        if self._terminal or not self._where:
            self._view.log(f"{self._where}{text}")

    def progress(self, progress: Progress) -> None:
        """Say how far the measuring is."""
        if self._terminal:
            self._view.log(f"{self._where}measuring, {progress.elapsed_s:.0f} s")


def _new_directory(board: str) -> Path:
    from whylate.recording.path_part import path_part

    stamp = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    return Path("soaks") / f"{stamp}-{path_part(board)}"


def _is_virtual(board: str) -> bool:
    from whylate.lab.description import names

    return board in names()
