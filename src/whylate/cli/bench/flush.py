"""`whylate bench flush`: flushes of translations that another CPU asks for."""

from __future__ import annotations

from typing import Any

import click

from whylate.cli.bench.options import COUNTS, SIZES, block_options, run_benchmark, what, words_of
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.parameter_types import DURATION
from whylate.cli.run_options import RunOptions, counters_option, cpus_option, run_options
from whylate.recording.workloads.flush import BYS


@click.command(name="flush", cls=GroupedCommand)
@what("--by", type=words_of(BYS), metavar="CALL,…",
      help=f"What makes translations invalid: {', '.join(BYS)}.  [default: munmap]")  # fmt: skip
@what("--pages", type=COUNTS, metavar="N,…",
      help="Pages of a call; above 33 an x86 kernel flushes all.  [default: 1]")  # fmt: skip
@what("--set-size", type=SIZES, metavar="SIZE,…",
      help="What the victim reads, a word of each page.  [default: 0]")  # fmt: skip
@what("--tasks", type=COUNTS, metavar="N,…",
      help="Of switch: tasks that take turns on the first CPU.  [default: 8]")  # fmt: skip
@what("--every", "call_every", type=DURATION, metavar="TIME",
      help="From one call to the next.  [default: 50us]")  # fmt: skip
@counters_option
@block_options
@cpus_option("the first two: who flushes, and who pays")
@run_options
def command(call_every: int | None, options: RunOptions, **asked: Any) -> None:
    """Measure what a flush of translations costs a CPU on BOARD that did not ask for it.

    A victim works on one CPU, and on another a caller unmaps or protects pages of the victim's
    address space; of another address space; or none: in blocks of random order. With --by switch
    the caller switches between processes; between threads; or not. Whether flushes were made is
    counted (x86; of switches, root).
    """
    from whylate.run.workloads.flush import FlushTable

    run_benchmark(FlushTable, {**asked, "every": call_every}, options)
