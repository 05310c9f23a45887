"""`whylate section`: how long does each execution of this code take?"""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from whylate.cli.option_groups import GroupedCommand, Heading, option_under
from whylate.cli.parameter_types import DURATION, REQUIREMENT
from whylate.cli.run_options import RunOptions, counters_option, make_runs, run_options
from whylate.run.errors import RequestError
from whylate.wire.constants import MOST_ONE_IN

if TYPE_CHECKING:
    from whylate.recording.treatments import Treatment
    from whylate.recording.workloads.activations import Engine, RecorderPlan

#: How it is known for how long interrupts or preemption are disabled.
OF_OFF = ("samples", "tracepoints")
HOOKS = (
    "best", "fentry", "kprobe-session", "kprobe-multi", "kprobe", "tracefs", "uprobe", *OF_OFF
)  # fmt: skip
_what = option_under(Heading.WHAT)
_recording = option_under(Heading.RECORDING)


@click.command(name="section", cls=GroupedCommand)
@click.argument("section", metavar="SECTION")
@_what("--list", "listed", is_flag=True,
       help="Time nothing: list the functions and tracepoints that match SECTION, a pattern like "
       "'kmem_*', or FILE:PATTERN.")  # fmt: skip
@_what("--for", "duration_ns", type=DURATION, default="20s", show_default=True,
       help="How long to measure.")  # fmt: skip
@_what("--every", "period_ns", type=DURATION, metavar="TIME",
       help="With irqs-off or preempt-off: how often to sample, or how long a stretch has a row "
       "where there are tracepoints.  [default: 53us]")  # fmt: skip
@_what("--comm", metavar="NAME", help="Executions in threads of this name alone.")
@_what("--pid", type=int, metavar="N",
       help="Executions in this process alone. FILE is looked up in its root.")  # fmt: skip
@option_under(Heading.VERDICT)(
    "--require", "requirements", type=REQUIREMENT, multiple=True, metavar="LIMIT",
    help="Fail unless kept: p99.9<100us, max<1ms, over(100us)<1/10s. May be repeated.")  # fmt: skip
@_recording("--hook", type=click.Choice(HOOKS),
            default="best", show_default=True,
            help="What times a function of the kernel; tracefs: trace events time it, or a pair of "
            "tracepoints; uprobe: time a function of user code whose file has exceptions, "
            "too; samples or tracepoints: of irqs-off and preempt-off.")  # fmt: skip
@_recording("--one-in", type=click.IntRange(1, MOST_ONE_IN), metavar="N",
            help="Keep one of N executions, drawn at random. All are counted.  "
            "[default: as many as can be kept]")  # fmt: skip
@_recording("--keep-above", "keep_above_ns", type=DURATION, metavar="TIME",
            help="Keep every execution that takes longer, drawn or not, apart from the "
            "sample.")  # fmt: skip
@_recording("--locks", is_flag=True,
            help="Tell waits for locks in the section by lock and callers.")  # fmt: skip
@_recording("--recorder", "engine", type=click.Choice(["best", "bpf", "tracefs"]),
            help="Record what runs during the longest executions, for `whylate explain`; best: by "
            "bpf, else by tracefs.  [default: nothing is recorded]")  # fmt: skip
@_recording("--threshold", "threshold_ns", type=DURATION, metavar="TIME",
            help="Record executions longer than this.  [default with --recorder: the slowest of "
            "500, at most 50 a second]")  # fmt: skip
@_recording("--paths", is_flag=True,
            help="Count the call paths of longer executions, and of some others.")  # fmt: skip
@_recording("--samples", is_flag=True,
            help="Look from time to time where executions are in their own code.")  # fmt: skip
@option_under(Heading.WHAT)("--experiment",
            type=click.Choice(["prefetch", "cold", "flush", "code", "tlb"]),
            help="Before half of the executions that are drawn, by chance, read their own code, or "
            "8 MiB of other memory, or flush their code from the caches, or run 8 MiB of other "
            "code, or touch 4,096 other pages; and compare them with the other half.")  # fmt: skip
@counters_option
@_recording("--spool", is_flag=True, help="Keep all rows on the board until the end.")
@run_options
def command(
    *,
    section: str,
    listed: bool,
    duration_ns: int,
    period_ns: int | None,
    comm: str | None,
    pid: int | None,
    requirements: tuple[str, ...],
    hook: str,
    one_in: int | None,
    engine: Engine | None,
    threshold_ns: int | None,
    keep_above_ns: int | None,
    counters: tuple[str, ...],
    locks: bool,
    paths: bool,
    samples: bool,
    experiment: Treatment | None,
    spool: bool,
    options: RunOptions,
) -> None:
    """Time every execution of SECTION on BOARD and write a report.

    SECTION is a function of the kernel, from its entry to its return; what lies between two
    tracepoints; or user code:

    \b
      whylate section kmem_cache_alloc_noprof
      whylate section 'irq:irq_handler_entry..irq:irq_handler_exit if irq==27'
      whylate section 'block:block_rq_issue..block:block_rq_complete by rq'
      whylate section ./libfoo.so:decode_frame
      whylate section ./player:whylate:frame

    irqs-off and preempt-off show for how long interrupts, or preemption, are disabled.

    A beginning ends with the next end of the same thread. `by cpu` pairs them on one CPU, `by
    ARGUMENT` by an argument of both tracepoints, like the address of a request.

    User code is FILE:PLACE, or FILE:BEGIN..END with two places. FILE is a program or library on
    BOARD: a path, or a name in the folders of libraries and programs.

    \b
      FILE:FUNCTION         from its entry to its return; C++ and Rust: the mangled name
      FILE:0xOFFSET         the same, by its offset in the file
      FILE:F+0x10..F+0x40   between two instructions; each must be where one begins
      FILE:PROVIDER:NAME    from a USDT probe to its next time in the same thread
      FILE:PROVIDER:A..B    from one to the other
      FILE:whylate:NAME     between the marks of whylate_section.h

    A hook takes about 1 us; 10 us where the kernel single-steps the instruction there, which it
    need not for the marks' nop. An exception that leaves a function whose return is timed ends the
    program, as does a hook within an instruction.

    Every execution is accounted for: entries = returned + in flight + left + refused. BOARD is as
    for whylate measure.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    from whylate.recording.workloads.benchmarks import CounterPlan
    from whylate.recording.workloads.section import Section
    from whylate.run.workloads.section import parse_place

    if section in ("irqs-off", "preempt-off"):
        from whylate.cli.section_off import check_options, sample_off

        check_options(section, click.get_current_context())
        sample_off(section, duration_ns, period_ns, hook, counters, options)
        return
    if hook in OF_OFF:
        raise RequestError(f"--hook {hook} is for irqs-off and preempt-off")
    if period_ns is not None:
        raise RequestError("--every is for irqs-off and preempt-off")
    if listed:
        from whylate.cli.section_list import list_section

        list_section(section, pid, options)
        return
    if experiment is not None and requirements:
        raise RequestError(
            "--require judges code as it runs, and an experiment changes how it runs: make a run "
            "without --experiment"
        )
    workload = Section(
        duration_ns=duration_ns,
        spool=spool,
        place=parse_place(section, hook),
        locks=locks,
        paths=paths,
        samples=samples,
        comm=comm,
        pid=pid,
        one_in=one_in,
        recorder=plan_recorder(engine, threshold_ns),
        keep_above_ns=keep_above_ns,
        experiment=experiment,
        counters=[CounterPlan(name) for name in dict.fromkeys(counters)],
    )
    outcomes = make_runs(workload, options)
    # Only where there is something to show: they bring rich.
    from whylate.cli.report.latencies import show, show_several
    from whylate.cli.report.outcomes import show_single

    if len(outcomes) == 1:
        show_run = partial(show, requirements=requirements, as_json=options.as_json)
        sys.exit(show_single(outcomes[0], show_run))
    sys.exit(show_several(outcomes, requirements, as_json=options.as_json))


def plan_recorder(engine: Engine | None, threshold_ns: int | None) -> RecorderPlan | None:
    """Return what is recorded of executions; None: nothing, neither option was given."""
    from whylate.recording.workloads.activations import RecorderPlan

    if engine is None and threshold_ns is None:
        return None
    return RecorderPlan(
        engine=engine or "best", threshold_ns=threshold_ns, tail_ppm=0, control_every=0
    )
