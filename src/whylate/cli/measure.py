"""`whylate measure`: how late is it?"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from whylate.cli.measure_program import MeasureCommand, program_to_watch
from whylate.cli.option_groups import Heading, option_under
from whylate.cli.parameter_types import CLAIM, DURATION, REQUIREMENT
from whylate.cli.run_options import (
    RunOptions,
    counters_option,
    cpus_option,
    make_runs,
    run_options,
)
from whylate.run.errors import RequestError

if TYPE_CHECKING:
    from whylate.recording.workloads import Workload
    from whylate.recording.workloads.activations import Engine, RecorderPlan
    from whylate.recording.workloads.wakeup import UntilPlan
    from whylate.summary.requirements import RateLimit

#: A run with --until goes on after its limit was exceeded, but not more often than this.
MAX_EXCEEDED = 200

_what = option_under(Heading.WHAT)
_recording = option_under(Heading.RECORDING)
_verdict = option_under(Heading.VERDICT)


@click.command(name="measure", cls=MeasureCommand)
@_what("--for", "duration_ns", type=DURATION, default="30s", show_default=True,
       help="How long to measure.")  # fmt: skip
@_what("--interval", "interval_ns", type=DURATION, default="1ms", show_default=True,
       help="Time between activations of a CPU, from 50us.")  # fmt: skip
@_what("--priority", type=click.IntRange(1, 99), metavar="N", default=95, show_default=True,
       help="SCHED_FIFO priority of the measuring threads.")  # fmt: skip
@_what("--allow-idle-states", is_flag=True, help="Do not hold /dev/cpu_dma_latency at 0.")
@_what("--comm", metavar="NAME", help="Watch a program instead: the threads of this name.")
@_what("--pid", type=int, metavar="N", help="Watch a program instead: the threads of this process.")
@_what("--until", type=CLAIM,
       help="End the run once this can be claimed, after --for at the latest: over(200us)<1/1h.",
       )  # fmt: skip
@_verdict("--require", "requirements", type=REQUIREMENT, multiple=True, metavar="LIMIT",
          help="Fail unless kept: p99.9<100us, max<1ms, over(100us)<1/10s. May be repeated.",
          )  # fmt: skip
@_recording("--no-recorder", is_flag=True,
            help="Record the samples alone: `whylate explain` has nothing to read.")  # fmt: skip
@_recording("--recorder", "engine", type=click.Choice(["best", "bpf", "tracefs"]), default="best",
            show_default=True, help="How events are recorded.")  # fmt: skip
@_recording("--threshold", "threshold_ns", type=DURATION, metavar="TIME",
            help="Record activations later than this.  [default: the slowest of 500]")  # fmt: skip
@_recording("--stop-above", "stop_above_ns", type=DURATION, metavar="TIME",
            help="End the run at the first activation later than this, and keep a snapshot of all "
            "CPUs (like cyclictest's --breaktrace).")  # fmt: skip
@_recording("--detach/--no-detach", "detach", default=None,
            help="Detach the recorder in a quarter of the time, drawn at random, to measure what "
            "it adds to latencies.  [default: in real time, from --for 10s on]")  # fmt: skip
@_recording("--spool", is_flag=True, help="Keep all samples on the board until the end.")
@counters_option
@option_under(Heading.WHERE)("--phases", type=click.IntRange(2, 1000), metavar="N",
                             help="With --virtual-time: repeat over N start phases and seeds.",
                             )  # fmt: skip
@cpus_option("all")
@run_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    *,
    duration_ns: int,
    interval_ns: int,
    priority: int,
    allow_idle_states: bool,
    comm: str | None,
    pid: int | None,
    argv: tuple[str, ...] | None,
    until: RateLimit | None,
    requirements: tuple[str, ...],
    no_recorder: bool,
    engine: Engine,
    threshold_ns: int | None,
    stop_above_ns: int | None,
    detach: bool | None,
    spool: bool,
    counters: tuple[str, ...],
    phases: int | None,
    options: RunOptions,
) -> None:
    """Measure the wakeup latency of BOARD and write a report.

    BOARD is local, ssh://[user@]host[:port], a virtual board, or a target or place of labgrid's
    (whylate board list shows them). Several, with commas between them, are measured side by side.

    A real-time thread on each CPU sleeps to absolute deadlines and reads the clock when it runs.
    Every activation is kept in DIR: exact, negative ones too. Periods that elapsed during a stall
    are counted as overruns. Ctrl-C ends the run early and keeps the recording so far.

    With --comm, --pid or -- COMMAND a program is watched instead: each wakeup of one of its threads
    is an activation. It is due when the timer, the interrupt or the thread came that woke it.
    COMMAND is started for the run and ended with it. Nothing in the program is changed.
    """
    from whylate.recording.workloads.activations import RecorderPlan
    from whylate.recording.workloads.app import App
    from whylate.recording.workloads.benchmarks import CounterPlan
    from whylate.recording.workloads.wakeup import Wakeup

    if no_recorder and stop_above_ns is not None:
        raise RequestError("--stop-above keeps what was recorded: not with --no-recorder")
    if phases and not options.virtual_time:
        raise RequestError("--phases repeats runs in virtual time: use --virtual-time too")
    target = program_to_watch(ctx, comm, pid, argv, options.names)
    recorder = None
    if not no_recorder:
        recorder = RecorderPlan(
            engine=engine, threshold_ns=threshold_ns, stop_above_ns=stop_above_ns
        )
    if detach:
        check_detach(recorder, watches_program=target is not None)
    if target is None and (detach or (detach is None and not options.virtual_time)):
        recorder = with_detached(recorder, duration_ns, interval_ns, options.seed, asked=detach)
    workload: Workload
    if target is not None:
        workload = App(duration_ns=duration_ns, spool=spool, recorder=recorder, target=target)
    else:
        workload = Wakeup(
            duration_ns=duration_ns,
            interval_ns=interval_ns,
            priority=priority,
            allow_idle_states=allow_idle_states,
            spool=spool,
            recorder=recorder,
            until=None if until is None else plan_until(until),
            counters=[CounterPlan(name) for name in counters],
        )
    if until is not None:
        requirements = (*requirements, until.text)
    outcomes = make_runs(workload, options, phases)
    # Only where there is something to show: they bring rich.
    from whylate.cli.report.latencies import show, show_several
    from whylate.cli.report.outcomes import show_single

    if len(outcomes) == 1 and not phases:
        show_run = partial(show, requirements=requirements, as_json=options.as_json)
        sys.exit(show_single(outcomes[0], show_run))
    sys.exit(show_several(outcomes, requirements, as_json=options.as_json))


def check_detach(recorder: RecorderPlan | None, *, watches_program: bool) -> None:
    """Raise RequestError where a recorder cannot be detached for a while."""
    if recorder is None:
        raise RequestError("--detach measures what the recorder adds: not with --no-recorder")
    if watches_program:
        raise RequestError("--detach: only the recorder sees a program's wakeups")
    if recorder.stop_above_ns is not None:
        raise RequestError("--stop-above needs the recorder at any time: not with --detach")


def with_detached(
    recorder: RecorderPlan | None,
    duration_ns: int,
    interval_ns: int,
    seed: int,
    *,
    asked: bool | None,
) -> RecorderPlan | None:
    """Return a recorder that is detached in some blocks of the run, where that is possible.

    Raises RequestError where it was asked for, and is not.
    """
    import msgspec

    from whylate.run.detaching import draw_detached

    if recorder is None or recorder.stop_above_ns is not None:
        return recorder
    drawn = draw_detached(duration_ns, interval_ns, seed)
    if drawn is None and asked:
        raise RequestError("--detach takes --for 10s or more, and 1000 activations of each CPU")
    return msgspec.structs.replace(recorder, detach=drawn)


def plan_until(claim: RateLimit) -> UntilPlan:
    """Return when a run has borne out a claim: after how long, by how often it was exceeded."""
    from whylate.recording.workloads.wakeup import UntilPlan
    from whylate.stats.tail.worst_case import seconds_until

    per_s = 1e9 / claim.every_ns
    # A little longer: what is judged then is the time of which there are samples.
    after_ns = [
        round(1.01e9 * seconds_until(per_s, exceeded, 1.0)) for exceeded in range(MAX_EXCEEDED)
    ]
    return UntilPlan(claim.limit_ns, claim.every_ns, after_ns)
