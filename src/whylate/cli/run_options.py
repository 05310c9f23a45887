"""Options that all verbs that measure have: boards, loads, settings, output."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whylate.boards.options import BoardOptions
from whylate.boards.waiting import Waiting
from whylate.cli.board_options import (
    environment_option,
    kernel_arg_option,
    root_option,
    smp_option,
    wait_option,
)
from whylate.cli.interrupt import Interrupt
from whylate.cli.option_groups import Heading, option_under
from whylate.cli.parameter_types import CPUS, LOAD, SETTING, CommaList, NewPath
from whylate.run.errors import RequestError
from whylate.text import path_part

if TYPE_CHECKING:
    from whylate.recording.plan import LoadPlan, RunPlan, Setting
    from whylate.recording.workloads import Workload
    from whylate.run.several import Outcome

#: A function that becomes a verb.
Verb = TypeVar("Verb", bound=Callable[..., Any])

_where = option_under(Heading.WHERE)
_load = option_under(Heading.LOAD)
_output = option_under(Heading.OUTPUT)


def cpus_option(default: str) -> Callable[[Verb], Verb]:
    """Return --cpus; default: in words, what is measured without it."""
    return _where("--cpus", type=CPUS, help=f"CPUs to use, like 0-3,8.  [default: {default}]")


counters_option = option_under(Heading.RECORDING)(
    "--counters", metavar="EVENTS", default=(), type=CommaList("events", lambda text: text or None,
                                                   "cycles,instructions"),
    help="Count these events too, by perf's names: cycles:u,r60.")  # fmt: skip
_OPTIONS = (
    click.argument("boards", default="local", metavar="[BOARD[,BOARD...]]"),
    _where("--all", "every", is_flag=True,
           help="Measure every known board except this machine, side by side."),
    environment_option,
    smp_option,
    kernel_arg_option,
    root_option,
    wait_option,
    _where("--virtual-time", is_flag=True,
           help="Virtual boards: count time in instructions, so that the run repeats to the "
           "nanosecond. Says nothing about hardware."),
    _where("--seed", type=click.IntRange(0, 2**31), metavar="N", default=1, show_default=True,
           help="Seed of random orders; in virtual time also of the board's random numbers and "
           "start."),
    _load("--load", "loads", type=LOAD, multiple=True, metavar="KIND[:N]",
          help="Run a background load: memory, code, tlb, switch, net, fork, mmap, timer, disk, "
          "net:HOST, block:PATH or cmd:COMMAND. May be repeated."),
    _load("--set", "settings", type=SETTING, multiple=True,
          help="Change a file under /proc/sys or /sys for the run, or priority:NAME, SCHED_FIFO "
          "for all threads of a name. May be repeated."),
    _load("--fault", "faults", multiple=True, metavar="'NAME [PARAMETER=VALUE]...'",
          help="In virtual time: inject a fault (see whylate lab faults). May be repeated."),
    option_under(Heading.RECORDING)(
        "--hits", multiple=True, metavar="NAME",
        help="Count how often this function of the kernel or tracepoint (sched:sched_switch) is "
        "hit on the measured CPUs. May be repeated."),
    _output("-o", "--output", type=NewPath(), metavar="DIR",
           help="The recording's directory.  [default: recordings/TIME-BOARD]"),
    _output("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else."),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of run_options(). cpus None: the workload's default."""

    names: Sequence[str]
    board: BoardOptions
    loads: Sequence[LoadPlan]
    settings: Sequence[Setting]
    faults: Sequence[str]
    hits: Sequence[str]
    virtual_time: bool
    seed: int
    output: Path | None
    as_json: bool
    cpus: tuple[int, ...] | None = None


def run_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a verb the options, as its argument `options`: a RunOptions."""
    passed = {field.name for field in fields(RunOptions)}

    @functools.wraps(verb)
    def with_options(
        boards: str,
        every: bool,
        environment: Path | None,
        smp: int | None,
        kernel_args: tuple[str, ...],
        root: Path | None,
        wait_ns: int,
        **given: Any,
    ) -> None:
        waiting = Waiting(wait_ns / 1e9)
        board = BoardOptions(smp, kernel_args, environment, root=root, waiting=waiting)
        values = {name: given.pop(name) for name in passed & given.keys()}
        names = _board_names(boards, board, every=every)
        verb(options=RunOptions(names=names, board=board, **values), **given)

    wrapped: Callable[..., None] = with_options
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped


def _board_names(boards: str, options: BoardOptions, *, every: bool) -> list[str]:
    """Return the boards to measure; raises RequestError."""
    from whylate.boards.open import all_boards
    from whylate.lab.description import names as virtual_boards

    names = all_boards(options) if every else [name for name in boards.split(",") if name]
    if not names or len(set(names)) != len(names):
        raise RequestError("name each board once, with commas between them")
    real = [name for name in names if name not in virtual_boards()]
    for option, given in (("--kernel-arg", options.kernel_args), ("--root", options.root)):
        if given and real:
            raise RequestError(f"{option} is for virtual boards: {real[0][:80]} is none")
    return names


#: In the meta of a context whose verb is only to say what it would measure.
_PLAN_ONLY = "whylate.cli.run_options.plan_only"


class PlannedError(Exception):
    """Ends a verb that measures before it does: what it would measure."""

    def __init__(self, plan: RunPlan) -> None:
        super().__init__("the verb was to plan a run, and not to make it")
        self.plan = plan


@contextmanager
def plan_only(ctx: click.Context) -> Iterator[None]:
    """Have the verb of this context raise PlannedError instead of measuring."""
    ctx.meta[_PLAN_ONLY] = True
    try:
        yield
    finally:
        del ctx.meta[_PLAN_ONLY]


def make_runs(workload: Workload, options: RunOptions, phases: int | None = None) -> list[Outcome]:
    """Measure a workload on each board, side by side; phases: so many times, in virtual time.

    Raises RequestError for what no board can do, and PlannedError within plan_only().
    """
    from whylate.recording.plan import RunPlan
    from whylate.run.loads import parse_faults
    from whylate.run.resolve import check

    plan = RunPlan(
        workload=workload,
        cpus=None if options.cpus is None else list(options.cpus),
        loads=list(options.loads),
        settings=list(options.settings),
        virtual_time=options.virtual_time,
        seed=options.seed,
        hits=list(options.hits),
        faults=[fault for text in options.faults for fault in parse_faults(text)],
    )
    ctx = click.get_current_context(silent=True)
    if ctx is not None and _PLAN_ONLY in ctx.meta:
        raise PlannedError(plan)
    # Before a board is taken, which may mean to wait for hours.
    check(plan)
    if plan.faults and options.board.root is not None:
        raise RequestError("--fault and --root: whylate builds no fault for a root's own kernel")
    # Only where something is measured: they bring numpy and rich.
    from whylate.boards.open import open_board
    from whylate.cli.live import BoardsView
    from whylate.run.several import Job, carry_out, carry_out_rounds
    from whylate.run.several import phases as phases_of

    names = options.names
    directory = options.output or new_directory("recordings", "+".join(names))
    interrupt = Interrupt()
    waiting = replace(options.board.waiting, stopped=interrupt.wanted)
    board = replace(options.board, waiting=waiting)
    with BoardsView(names) as view:
        jobs = [
            Job(
                name,
                functools.partial(open_board, name, board),
                plan,
                directory if len(names) == 1 else directory / path_part(name),
                view.observer(name),
            )
            for name in names
        ]
        if len(jobs) == 1 and not phases:
            return [carry_out(jobs[0], interrupt.wanted)]
        rounds = [phases_of(job, phases) if phases else [job] for job in jobs]
        return carry_out_rounds(rounds, interrupt.wanted)


def new_directory(parent: str, name: str = "") -> Path:
    """Return where results lie that were given no place: PARENT/TIME or PARENT/TIME-NAME.

    Of several in one second each but the first has a number: PARENT/TIME-NAME-2.
    """
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    first = Path(parent) / (f"{stamp}-{path_part(name)}" if name else stamp)
    numbered = (first.with_name(f"{first.name}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([first], numbered) if not os.path.lexists(path))
