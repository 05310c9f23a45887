"""`whylate board soak`: boot a board, run a workload and switch it off, again and again."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from whylate.boards.open import BoardOptions, open_board
from whylate.cli.board.soak_table import duration, print_table
from whylate.cli.board.soak_workload import WORKLOADS, SoakCommand, workload_run
from whylate.cli.board_options import board_options
from whylate.cli.interrupt import Interrupt
from whylate.cli.live import LiveView
from whylate.cli.option_groups import Heading, option_under
from whylate.cli.parameter_types import DURATION, LOAD, NewPath
from whylate.cli.print_json import json_option, print_json
from whylate.cli.run_options import new_directory
from whylate.lab.description import names
from whylate.recording.plan import LoadPlan, RunPlan
from whylate.run.errors import RequestError
from whylate.run.progress import Progress, Step
from whylate.run.resolve import check
from whylate.run.workloads.wakeup import plan_wakeups
from whylate.soak.journal import read_soak
from whylate.soak.model import Cycle, Keep, SoakPlan
from whylate.soak.summary import SoakSummary, summarize

if TYPE_CHECKING:
    from whylate.soak.carry_out import Ended, Goal


_what = option_under(Heading.WHAT)
_length = option_under(Heading.LENGTH)
_where = option_under(Heading.WHERE)
_output = option_under(Heading.OUTPUT)


@click.command(name="soak", cls=SoakCommand)
@click.argument("board", required=False)
@_length("--cycles", type=click.IntRange(1, 1_000_000), metavar="N",
              help="End after N cycles.")  # fmt: skip
@_length("--for", "for_ns", type=DURATION, help="End after this time, like 8h.")
@_what("--run-for", "run_for_ns", type=DURATION, default="5s", show_default=True,
              help="Without a WORKLOAD: how long each cycle measures wakeups.")  # fmt: skip
@_what("--interval", "interval_ns", type=DURATION, default="1ms", show_default=True,
              help="Without a WORKLOAD: time between activations of a CPU.")  # fmt: skip
@_what("--load", "loads", type=LOAD, multiple=True, metavar="KIND[:N]",
              help="Without a WORKLOAD: a background load, as in `whylate measure`. May be "
              "repeated.")  # fmt: skip
@_output("--keep", type=click.Choice(["all", "failures"]), default="all", show_default=True,
              help="Recordings to keep; console logs are always kept.")  # fmt: skip
@_where("--boot-timeout", "boot_ns", type=DURATION, default="3min", show_default=True,
              help="Cut the power of a board that is not up after this.")  # fmt: skip
@_where("--run-timeout", "run_timeout_ns", type=DURATION,
              help="Cut the power of a board whose run is not over after this.  "
              "[default: 4 min more than planned; 64 min for benchmarks]")  # fmt: skip
@_where("--off-for", "off_ns", type=DURATION,
              help="Time between off and on.  [default: 2s; none for virtual boards]",
              )  # fmt: skip
@_length("--give-up", type=click.IntRange(1), default=20, show_default=True, metavar="N",
              help="End after N failures in succession.")  # fmt: skip
@_output("-o", "--output", type=NewPath(), metavar="DIR",
              help="The soak's directory; resume the soak that is there.  "
              "[default: soaks/TIME-BOARD]")  # fmt: skip
@_output("--show", type=click.Path(path_type=Path), metavar="DIR",
              help="Only show the soak in this directory.")  # fmt: skip
@json_option
@board_options
@click.pass_context
def soak(
    ctx: click.Context,
    /,
    *,
    board: str | None,
    cycles: int | None,
    for_ns: int | None,
    run_for_ns: int,
    interval_ns: int,
    loads: tuple[LoadPlan, ...],
    keep: Keep,
    boot_ns: int,
    run_timeout_ns: int | None,
    off_ns: int | None,
    give_up: int,
    output: Path | None,
    show: Path | None,
    as_json: bool,
    words: tuple[str, ...],
    options: BoardOptions,
) -> None:
    """Switch BOARD on, boot it, run WORKLOAD and cut its power, for --cycles N or --for 8h.

    WORKLOAD is written as its verb is, without a board:

    \b
      whylate board soak board7 --for 8h cmd -- make -C /src -j16
      whylate board soak board7 --for 8h memory --ops copy --sizes 64M
      whylate board soak board7 --for 8h measure --for 10s --load net:2
      whylate board soak board7 --for 8h app -- jackd -d dummy
      whylate board soak board7 --for 8h section irqs-off

    Without one the wakeups of --run-for, --interval and --load are measured. Crashes of the kernel
    and of programs, hangs, and commands that end with a status other than 0 are counted.

    A board that hangs has its power cut after a timeout. Each cycle leaves its console log and its
    recording in DIR, and one line in DIR/cycles.jsonl. After the host was killed, the same command
    with the same DIR resumes. Ctrl-C cuts the power and ends the soak.

    Exit status: 0 the soak is complete and no cycle failed, 1 a cycle failed, 3 the soak ended
    early or without a complete cycle, and none failed.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    goal: Goal | None = None
    ended: Ended | None = None
    if show is not None:
        if board is not None or output is not None:
            raise click.UsageError("--show DIR only shows: not with a board or -o")
        directory = show
    else:
        if board is None:
            raise click.UsageError("name a board, or use --show DIR")
        if cycles is None and for_ns is None:
            raise click.UsageError("state the length: --cycles N or --for TIME")
        from whylate.soak.carry_out import Goal
        from whylate.soak.model import SoakPlan

        run = (
            _workload(words, ctx)
            if words
            else RunPlan(workload=plan_wakeups(run_for_ns, interval_ns), loads=list(loads))
        )
        check(run)
        directory = output if output is not None else new_directory("soaks", board)
        off_s = off_ns / 1e9 if off_ns is not None else (0.0 if _is_virtual(board) else 2.0)
        plan = SoakPlan(
            board=board,
            run=run,
            smp=options.cpus,
            kernel_args=list(options.kernel_args),
            keep=keep,
            boot_timeout_s=boot_ns / 1e9,
            run_timeout_s=run_timeout_ns / 1e9 if run_timeout_ns is not None else None,
            off_s=off_s,
        )
        goal = Goal(cycles, for_ns / 1e9 if for_ns is not None else None, give_up)
        ended = _carry_out(plan, goal, directory, options)
    plan, so_far = read_soak(directory)
    summary = summarize(plan, so_far)
    if as_json:
        print_json({"plan": plan, "goal": goal, "ended": ended, "summary": summary})
    else:
        print_table(summary, directory, _end_reason(summary, goal, ended))
    if summary.failures.count:
        sys.exit(1)
    # An incomplete soak has not passed.
    sys.exit(3 if ended == "ended early" or not summary.cycles else 0)


#: The options that say which wakeups are measured where there is no workload.
_OF_WAKEUPS = {"run_for_ns": "--run-for", "interval_ns": "--interval", "loads": "--load"}


def _workload(words: tuple[str, ...], ctx: click.Context) -> RunPlan:
    """Return what each cycle measures; raises RequestError."""
    for name, option in _OF_WAKEUPS.items():
        if words[0] in WORKLOADS and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise RequestError(
                f"{option} is for a soak without a workload: write the options of {words[0]} "
                "behind it"
            )
    return workload_run(words, ctx)


def _end_reason(summary: SoakSummary, goal: Goal | None, ended: Ended | None) -> str:
    """Return why the soak ended before its goal; "" if it did not."""
    if goal is None or ended is None or ended == "done":
        return ""
    if ended == "given up":
        return f"{ended}: {goal.give_up} cycles in succession failed"
    done = []
    if goal.cycles is not None:
        done.append(f"{summary.cycles} of {goal.cycles} cycles")
    if goal.seconds is not None:
        done.append(f"{duration(summary.seconds)} of {duration(goal.seconds)}")
    return f"{ended}: {', '.join(done)}. The same command resumes it"


def _carry_out(plan: SoakPlan, goal: Goal, directory: Path, options: BoardOptions) -> Ended:
    """Carry the soak out; how it ended."""
    from whylate.soak.carry_out import soak as soak_board

    interrupt = Interrupt()
    opened = open_board(plan.board, options)
    with LiveView() as view:
        watcher = _Watcher(view, goal, terminal=view.is_terminal)
        return soak_board(opened, plan, goal, directory, watcher, interrupt.wanted)


class _Watcher:
    """Shows a soak: on a terminal what happens now, elsewhere a line for each cycle."""

    def __init__(self, view: LiveView, goal: Goal, *, terminal: bool) -> None:
        self._view = view
        self._goal = goal
        self._terminal = terminal
        self._where = ""

    def cycle_begins(self, number: int, so_far: Sequence[Cycle]) -> None:
        """Show which cycle begins; interrupted ones are not counted."""
        del number
        from whylate.soak.carry_out import count_judged

        of = f" of {self._goal.cycles}" if self._goal.cycles is not None else ""
        done = count_judged(so_far)
        failed = sum(cycle.outcome not in {"ok", "interrupted"} for cycle in so_far)
        self._where = f"cycle {done + 1}{of}, {failed} failed: "

    def cycle_ended(self, cycle: Cycle) -> None:
        """Show the outcome of a cycle."""
        if not self._terminal:
            from whylate.text import plain

            booted = f", booted in {cycle.boot_s:.1f} s" if cycle.boot_s is not None else ""
            booted += f", ran for {cycle.run_s:.1f} s" if cycle.run_s is not None else ""
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
        """Show how far the measurement is."""
        if self._terminal:
            self._view.log(f"{self._where}measuring, {progress.elapsed_s:.0f} s")


def _is_virtual(board: str) -> bool:
    return board in names()
