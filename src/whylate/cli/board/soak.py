"""`whylate board soak`: boot a board, run a workload and switch it off, again and again."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from whylate.cli.board.soak_workload import WORKLOADS, SoakCommand, workload_run
from whylate.cli.board_options import board_options, wait_option
from whylate.cli.interrupt import Interrupt
from whylate.cli.option_groups import Heading, option_under
from whylate.cli.parameter_types import DURATION, LOAD, CommaList, NewPath, Parsed
from whylate.cli.print_json import json_option
from whylate.cli.run_options import new_directory
from whylate.run.errors import RequestError
from whylate.soak.failure_kinds import CRASHES, FAILURE_KINDS, FailureKind

if TYPE_CHECKING:
    from whylate.boards.options import BoardOptions
    from whylate.recording.plan import LoadPlan, RunPlan
    from whylate.soak.model import Keep, SoakPlan

_what = option_under(Heading.WHAT)
_length = option_under(Heading.LENGTH)
_where = option_under(Heading.WHERE)
_output = option_under(Heading.OUTPUT)
_COMMAND = Parsed("command", shlex.split)
_IMAGE = click.Path(exists=True, dir_okay=False)


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
@option_under(Heading.COMPARED)("--compare", "compared", nargs=2, metavar="A B",
              help="Compare how often two boards crash, cycle by cycle in random order, until it "
              "is decided. With BOARD, A and B are its variants: NAME:KNOB=VALUE,…, as of "
              "`whylate study`.")  # fmt: skip
@option_under(Heading.COMPARED)("--count", "counted", metavar="KIND,…",
              type=CommaList("kinds of failure",
                             lambda word: word if word in FAILURE_KINDS else None,
                             ",".join(CRASHES)),
              help="With --compare: the failures that are compared.  "
              f"[default: {','.join(CRASHES)}]")  # fmt: skip
@_length("--until-crash", is_flag=True,
              help="End at the first crash or hang, and leave the board as it is.")  # fmt: skip
@_what("--boot-stages", "stages", type=click.Path(path_type=Path, exists=True, dir_okay=False),
              metavar="FILE",
              help="More stages of the boot to look for on the console, in TOML: NAME = 'text', in "
              "which * is any text.  [default: as the bench declares]")  # fmt: skip
@_output("--keep", type=click.Choice(["all", "failures"]), default="all", show_default=True,
              help="Recordings to keep; console logs are always kept.")  # fmt: skip
@_where("--boot-timeout", "boot_ns", type=DURATION, default="3min", show_default=True,
              help="Cut the power of a board that is not up after this.")  # fmt: skip
@_where("--run-timeout", "run_timeout_ns", type=DURATION,
              help="End a run that is not over after this.  "
              "[default: 4 min more than planned; 64 min for benchmarks]")  # fmt: skip
@_where("--off-for", "off_ns", type=DURATION,
              help="Time between off and on.  [default: 2s; none for virtual boards]",
              )  # fmt: skip
@_where("--flash", "image", type=_IMAGE, metavar="IMAGE",
              help="Write this image to the card before each boot, and read it back.")  # fmt: skip
@_where("--recover", type=_IMAGE, metavar="IMAGE",
              help="With --flash: the image for a board that does not boot, and for the end.  "
              "[default: what the card had]")  # fmt: skip
@_where("--reboot", metavar="CMD", type=_COMMAND,
              help="Reboot the board for each cycle after the first by this command, like "
              "'reboot -f', or by its `watchdog`, in place of its power.")  # fmt: skip
@_length("--give-up", type=click.IntRange(1), default=20, show_default=True, metavar="N",
              help="End after N failures in succession.")  # fmt: skip
@_output("-o", "--output", type=NewPath(), metavar="DIR",
              help="The soak's directory; resume the soak that is there.  "
              "[default: soaks/TIME-BOARD]")  # fmt: skip
@_output("--show", type=click.Path(path_type=Path), metavar="DIR",
              help="Only show the soak in this directory.")  # fmt: skip
@json_option
@wait_option
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
    image: str | None,
    recover: str | None,
    reboot: list[str] | None,
    give_up: int,
    compared: tuple[str, str] | None,
    counted: tuple[FailureKind, ...] | None,
    until_crash: bool,
    stages: Path | None,
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

    A board that hangs has its power cut after a timeout, except with --until-crash. Each cycle
    leaves its console log and its recording in DIR, and one line in DIR/cycles.jsonl. After the
    host was killed, the same command with the same DIR resumes. Ctrl-C cuts the power and ends the
    soak.

    Exit status: 0 the soak is complete and no cycle failed, 1 a cycle failed, 3 the soak ended
    early or without a complete cycle, and none failed. With --compare: 0 a side crashes more often,
    3 it is not decided.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    if show is not None:
        if board is not None or output is not None or stages is not None:
            raise click.UsageError("--show DIR only shows: not with a board, -o or --boot-stages")
        from whylate.cli.board.soak_run import finish

        finish(show, None, None, as_json=as_json)
    if board is None and compared is None:
        raise click.UsageError("name a board, or use --show DIR")
    if cycles is None and for_ns is None:
        raise click.UsageError("state the length: --cycles N or --for TIME")
    _check_together(ctx)
    from whylate.boards.open import declared_options
    from whylate.cli.board.soak_run import carry_out, compare, finish, sides_of
    from whylate.lab.description import names
    from whylate.recording.plan import RunPlan
    from whylate.run.resolve import check
    from whylate.run.workloads.wakeup import plan_wakeups
    from whylate.soak.card import sum_of_image
    from whylate.soak.carry_out import Goal
    from whylate.soak.model import SoakPlan
    from whylate.soak.own_stages import declared_stages, read_stages

    run = (
        _workload(words, ctx)
        if words
        else RunPlan(workload=plan_wakeups(run_for_ns, interval_ns), loads=list(loads))
    )
    check(run)
    from_file = read_stages(stages) if stages is not None else None
    goal = Goal(cycles, for_ns / 1e9 if for_ns is not None else None, give_up, until_crash)

    def plan_for(name: str, run: RunPlan, options: BoardOptions) -> SoakPlan:
        # The kernel of a virtual board resets after a panic, and the board then ends.
        halt = ["panic=0"] if (until_crash or reboot) and name in names() else []
        off_s = off_ns / 1e9 if off_ns is not None else (0.0 if name in names() else 2.0)
        return SoakPlan(
            board=name,
            run=run,
            smp=options.cpus,
            kernel_args=[*options.kernel_args, *halt],
            root=str(options.root) if options.root is not None else None,
            keep=keep,
            boot_timeout_s=boot_ns / 1e9,
            run_timeout_s=run_timeout_ns / 1e9 if run_timeout_ns is not None else None,
            off_s=off_s,
            boot_stages=from_file or declared_stages(name, declared_options(name, options)),
            flash=image,
            flash_sha256=sum_of_image(image) if image is not None else None,
            reboot=reboot or [],
            recover=recover,
            recover_sha256=sum_of_image(recover) if recover is not None else None,
        )

    stopped = Interrupt().wanted
    options = replace(options, waiting=replace(options.waiting, stopped=stopped))
    if compared is not None:
        sides = sides_of(board, compared, run, options, plan_for)
        directory = output or new_directory("soaks", "+".join(side.name for side in sides))
        compare(sides, counted or CRASHES, goal, directory, stopped, as_json=as_json)
    assert board is not None  # noqa: S101 (checked above)
    directory = output or new_directory("soaks", board)
    ended = carry_out(plan_for(board, run, options), goal, directory, options, stopped)
    finish(directory, goal, ended, as_json=as_json)


#: Options that need another one, and options that are of a soak of one board.
_NEEDS = (
    ("counted", "compared", "--count says what --compare compares"),
    ("recover", "image", "--recover is the good image of --flash IMAGE"),
)
_OF_ONE_BOARD = {"until_crash": "--until-crash", "image": "--flash", "reboot": "--reboot"}


def _check_together(ctx: click.Context) -> None:
    """Raise UsageError for options that have no meaning together."""
    given = ctx.params
    for name, needed, why in _NEEDS:
        if given[name] is not None and given[needed] is None:
            raise click.UsageError(why)
    for name, option in _OF_ONE_BOARD.items():
        if given[name] and given["compared"] is not None:
            raise click.UsageError(f"{option} is of one board: not with --compare")
    if given["reboot"] is not None and given["image"] is not None:
        raise click.UsageError("--flash switches the board off in each cycle: not with --reboot")
    if given["reboot"] == []:
        raise click.UsageError("--reboot has no command")


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
