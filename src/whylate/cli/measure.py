"""`whylate measure`: how late is it?"""

from __future__ import annotations

import sys
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from whylate.cli.board_options import kernel_arg_option, smp_option
from whylate.cli.measure_program import WithCommand, app_of
from whylate.cli.parameter_types import (
    ClaimType,
    Cpus,
    Duration,
    Load,
    RequirementType,
    SettingType,
)
from whylate.cli.trial_options import benchmark_of, trial_options
from whylate.recording.path_part import path_part
from whylate.recording.plan import LoadPlan, Setting
from whylate.recording.workloads.wakeup import UntilPlan, Wakeup

if TYPE_CHECKING:
    from whylate.recording.workloads import Workload
    from whylate.recording.workloads.activations import Engine
    from whylate.recording.workloads.app import Target
    from whylate.summary.requirements import RateLimit

#: A run that is to show how rare something is goes on however often it came, up to so often.
MOST_LATE = 200


@click.command(name="measure", cls=WithCommand)
@click.argument("boards", default="local", metavar="[BOARD[,BOARD...]]")
@click.option("--all", "every", is_flag=True,
              help="Measure every board that there is but this machine, side by side.")  # fmt: skip
@click.option("--env", "environment", type=click.Path(path_type=Path, exists=True),
              help="labgrid's environment file.  [default: LG_ENV]")  # fmt: skip
@smp_option
@kernel_arg_option
@click.option("--virtual-time", is_flag=True,
              help="Virtual boards: count time in instructions, so that the run repeats to the "
              "nanosecond. No measure of hardware.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0, 2**31), default=1, show_default=True,
              help="In virtual time: what random numbers begin with, and when the run begins.",
              )  # fmt: skip
@click.option("--phases", type=click.IntRange(2, 1000), metavar="N",
              help="Repeat in virtual time over N start phases and seeds.")  # fmt: skip
@click.option("--workload",
              type=click.Choice(["wakeup", "app", "switch", "memory", "clock", "cmd"]),
              default="wakeup", show_default=True,
              help="What is timed: wakeups of the probe's own threads, or of a program's; switches "
              "between tasks, memory, clocks, or a command.")  # fmt: skip
@click.option("--comm", metavar="NAME", help="app: the threads of this name.")
@click.option("--pid", type=int, metavar="N", help="app: the threads of this process.")
@click.option("--for", "duration_ns", type=Duration(), default="30s", show_default=True,
              help="How long to measure.")  # fmt: skip
@click.option("--interval", "interval_ns", type=Duration(), default="1ms", show_default=True,
              help="Time between activations of a CPU, from 50us.")  # fmt: skip
@click.option(
    "--cpus",
    type=Cpus(),
    help="CPUs to measure, like 0-3,8.  [default: all; switch, memory: the first]",
)
@click.option("--priority", type=click.IntRange(1, 99), default=95,
              help="SCHED_FIFO priority of the measuring threads, or of the tasks of switch.  "
              "[default: 95; switch: none]")  # fmt: skip
@click.option("--load", "loads", type=Load(), multiple=True, metavar="KIND[:N]",
              help="Disturb with memory, switch, net, fork, mmap, timer, disk, or cmd:COMMAND. "
              "May be repeated.")  # fmt: skip
@click.option("--require", "requirements", type=RequirementType(), multiple=True,
              metavar="LIMIT",
              help="Fail unless kept: p99.9<100us, max<1ms, over(100us)<1/10s. "
              "May be repeated.")  # fmt: skip
@click.option("--fault", "faults", multiple=True, metavar="'NAME [PARAMETER=VALUE]...'",
              help="In virtual time: inject a fault (see whylate lab faults). May be repeated.",
              )  # fmt: skip
@click.option("--set", "settings", type=SettingType(), multiple=True,
              help="Change a file under /proc/sys or /sys for the run. May be repeated.",
              )  # fmt: skip
@click.option("--no-recorder", is_flag=True,
              help="Record nothing but the samples: `whylate explain` cannot say why.",
              )  # fmt: skip
@click.option("--recorder", "engine", type=click.Choice(["best", "bpf", "tracefs"]),
              default="best", show_default=True,
              help="How events are recorded.")  # fmt: skip
@click.option("--threshold", "threshold_ns", type=Duration(), metavar="TIME",
              help="Record what is later than this.  [default: the slowest of 500]",
              )  # fmt: skip
@click.option("--stop-above", "stop_above_ns", type=Duration(), metavar="TIME",
              help="End the run at the first activation that is later, and keep what all CPUs did "
              "meanwhile.")  # fmt: skip
@click.option("--until", type=ClaimType(),
              help="End the run once this can be claimed, and after --for at the latest: "
              "over(200us)<1/1h.")  # fmt: skip
@click.option("--allow-idle-states", is_flag=True,
              help="Do not hold /dev/cpu_dma_latency at 0.")  # fmt: skip
@click.option("--spool", is_flag=True,
              help="Keep all samples on the board until the end.")  # fmt: skip
@trial_options
@click.option("-o", "--output", type=click.Path(path_type=Path), metavar="DIR",
              help="The recording's directory.  [default: recordings/TIME-BOARD]",
              )  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    boards: str,
    every: bool,
    environment: Path | None,
    smp: int | None,
    kernel_args: tuple[str, ...],
    virtual_time: bool,
    seed: int,
    phases: int | None,
    workload: str,
    comm: str | None,
    pid: int | None,
    argv: tuple[str, ...] | None,
    duration_ns: int,
    interval_ns: int,
    cpus: tuple[int, ...] | None,
    priority: int,
    loads: tuple[LoadPlan, ...],
    requirements: tuple[str, ...],
    faults: tuple[str, ...],
    settings: tuple[Setting, ...],
    no_recorder: bool,
    engine: str,
    threshold_ns: int | None,
    stop_above_ns: int | None,
    until: RateLimit | None,
    allow_idle_states: bool,
    spool: bool,
    output: Path | None,
    as_json: bool,
    **asked: Any,
) -> None:
    """Measure the wakeup latency of BOARD and write a report.

    BOARD is local, ssh://[user@]host[:port], a virtual board, or a target or place of labgrid's
    (whylate board list shows them). Several, with commas between them, are measured side by side.

    A real-time thread on each CPU sleeps to absolute deadlines and reads the clock when it runs.
    Every activation is kept in DIR: exact, negative ones too, and those that came due during a
    stall are counted as overruns. Ctrl-C ends the run early and keeps what there is.

    With --workload app a program is watched instead: each time that one of its threads is woken is
    an activation, due when the timer or the interrupt came, or the thread called, that woke it.
    COMMAND is started for the run and ended with it. Nothing in the program is changed.

    The workloads switch, memory, clock and cmd have no activations but repetitions: whatever is
    swept (--tasks 2,4,8) is measured point by point, in rounds of random order.
    """
    from whylate.boards.open import BoardOptions, all_boards, open_board
    from whylate.cli.interrupt import Interrupt
    from whylate.cli.live import BoardsView
    from whylate.cli.report.benchmark import show_boards
    from whylate.cli.report.latencies import show_one, show_several
    from whylate.lab.description import names as virtual_boards
    from whylate.recording.plan import RunPlan
    from whylate.recording.workloads.activations import RecorderPlan
    from whylate.recording.workloads.benchmarks import CounterPlan
    from whylate.report.plain_console import plain_console
    from whylate.run.errors import RequestError
    from whylate.run.loads import parse_faults
    from whylate.run.several import Job, carry_out, carry_out_rounds
    from whylate.run.several import phases as phases_of

    if no_recorder and stop_above_ns is not None:
        raise RequestError("--stop-above keeps what was recorded: say it without --no-recorder")
    if phases and not virtual_time:
        raise RequestError("--phases repeats runs in virtual time: say --virtual-time too")
    options = BoardOptions(cpus=smp, kernel_args=kernel_args, environment=environment)
    names = all_boards(options) if every else [name for name in boards.split(",") if name]
    if not names or len(set(names)) != len(names):
        raise RequestError("name each board once, with commas between them")
    if kernel_args and (others := [name for name in names if name not in virtual_boards()]):
        raise RequestError(f"--kernel-arg is for virtual boards: {others[0][:80]} is none")
    benchmark = benchmark_of(ctx, workload, argv, asked)
    recorder = RecorderPlan(
        engine=cast("Engine", engine), threshold_ns=threshold_ns, stop_above_ns=stop_above_ns
    )
    measured = benchmark or activations_of(
        app_of(ctx, workload, comm, pid, argv, names),
        Wakeup(
            duration_ns=duration_ns,
            interval_ns=interval_ns,
            priority=priority,
            allow_idle_states=allow_idle_states,
            spool=spool,
            recorder=None if no_recorder else recorder,
            until=until_plan(until) if until is not None else None,
            counters=[CounterPlan(name) for name in asked["counters"] or ()],
        ),
    )
    directory = output if output is not None else new_directory("+".join(names))
    request = RunPlan(
        workload=measured,
        cpus=None if cpus is None else list(cpus),
        loads=list(loads),
        settings=list(settings),
        virtual_time=virtual_time,
        seed=seed,
        faults=[fault for text in faults for fault in parse_faults(text)],
    )
    if until is not None:
        requirements = (*requirements, until.text)
    interrupt = Interrupt()
    with BoardsView(plain_console(stderr=True), names) as view:
        jobs = [
            Job(
                name,
                partial(open_board, name, options),
                request,
                directory if len(names) == 1 else directory / path_part(name),
                view.of(name),
            )
            for name in names
        ]
        if len(jobs) == 1 and not phases:
            outcomes = [carry_out(jobs[0], interrupt.wanted)]
        else:
            rounds = [phases_of(job, phases) if phases else [job] for job in jobs]
            outcomes = carry_out_rounds(rounds, interrupt.wanted)
    if len(jobs) == 1 and not phases:
        predict = asked["predict"]
        sys.exit(show_one(outcomes[0], requirements, as_json=as_json, predict=predict))
    if benchmark is not None:
        sys.exit(show_boards(outcomes, as_json=as_json, predict=asked["predict"]))
    sys.exit(show_several(outcomes, requirements, as_json=as_json))


def activations_of(target: Target | None, wakeup: Wakeup) -> Workload:
    """Return what is measured: the wakeups of a program, or the probe's; raises RequestError."""
    from whylate.recording.workloads.app import App
    from whylate.run.errors import RequestError

    if target is None:
        return wakeup
    if wakeup.counters:
        raise RequestError("--counters are of the probe's own threads: perf stat counts a program")
    if wakeup.until is not None:
        raise RequestError(
            "--until looks at samples while they come: not with --spool, --virtual-time or a "
            "program"
        )
    return App(
        duration_ns=wakeup.duration_ns,
        spool=wakeup.spool,
        recorder=wakeup.recorder,
        target=target,
    )


def until_plan(claim: RateLimit) -> UntilPlan:
    """Return when a run may end that is to bear out a claim: after how long, by what came."""
    from whylate.stats.worst_case import seconds_until

    per_s = 1e9 / claim.every_ns
    # A little longer: what is judged then is the time of which there are samples.
    after_ns = [round(1.01e9 * seconds_until(per_s, number, 1.0)) for number in range(MOST_LATE)]
    return UntilPlan(claim.limit_ns, claim.every_ns, after_ns)


def new_directory(board: str) -> Path:
    """Return where a recording lies that was given no place: recordings/TIME-BOARD."""
    stamp = datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S")
    return Path("recordings") / f"{stamp}-{path_part(board)}"
