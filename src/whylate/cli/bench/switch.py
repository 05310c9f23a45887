"""`whylate bench switch`: context switches."""

from __future__ import annotations

from typing import Any

import click

from whylate.cli.bench.options import COUNTS, SIZES, block_options, run_benchmark, what, words_of
from whylate.cli.option_groups import GroupedCommand, Heading, option_under
from whylate.cli.run_options import RunOptions, counters_option, cpus_option, run_options
from whylate.recording.workloads.switch import KINDS, OVERS


@click.command(name="switch", cls=GroupedCommand)
@what("--tasks", type=COUNTS, metavar="N,…", help="Tasks in the ring.  [default: 2]")
@what("--set-size", type=SIZES, metavar="SIZE,…",
      help="What each task reads when it has the token.  [default: 0]")  # fmt: skip
@what("--over", type=words_of(OVERS), metavar="WAY,…",
      help=f"What passes the token: {', '.join(OVERS)}.  [default: pipe]")  # fmt: skip
@what("--kind", type=words_of(tuple(KINDS)), metavar="KIND,…",
      help=f"What the tasks are: {', '.join(KINDS)}.  [default: process]")  # fmt: skip
@what("--priority", type=click.IntRange(1, 99), metavar="N",
      help="SCHED_FIFO priority of the tasks.  [default: none, SCHED_BATCH]")  # fmt: skip
@option_under(Heading.RECORDING)(
    "--record",
    is_flag=True,
    help="Trace the switches and flushes of each turn, for whylate predict asid.",
)
@counters_option
@block_options
@cpus_option("the first")
@run_options
def command(options: RunOptions, **asked: Any) -> None:
    """Measure context switches on BOARD: a token goes round a ring of tasks.

    A hop without a switch is measured beside it and subtracted, and the rest is divided by the
    switches that the kernel counted. TLB flushes are counted in a block of their own, by reason
    (x86, root).
    """
    from whylate.run.workloads.switch import SwitchTable

    run_benchmark(SwitchTable, asked, options)
