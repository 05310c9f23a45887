"""`whylate bench memory`: memory throughput and latency."""

from __future__ import annotations

from typing import Any

import click

from whylate.cli.bench.options import SIZES, block_options, run_benchmark, what, words_of
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.run_options import RunOptions, counters_option, cpus_option, run_options
from whylate.recording.workloads.memory import PAGES, ROUTINES, SOURCES, WHATS
from whylate.run.errors import RequestError

#: What is measured without --ops.
_DEFAULT_OPS = WHATS[:3]


@click.command(name="memory", cls=GroupedCommand)
@what("--ops", type=words_of(WHATS), default=_DEFAULT_OPS, metavar="OP,…",
      help=f"Operations: {', '.join(WHATS)}.  [default: {','.join(_DEFAULT_OPS)}]")  # fmt: skip
@what("--sizes", type=SIZES, metavar="SIZE,…", help="Buffer sizes.  [default: 1M,4M,64M]")
@what("--source", type=words_of(SOURCES), metavar="WHAT,…",
      help=f"What was written to the source: {', '.join(SOURCES)}.  [default: random]",
      )  # fmt: skip
@what("--pages", type=words_of(PAGES), metavar="KIND,…",
      help=f"Kind of pages: {', '.join(PAGES)}.  [default: small]")  # fmt: skip
@what("--routine", type=words_of(ROUTINES), metavar="WHICH,…",
      help=f"What copies, writes or reads: {', '.join(ROUTINES)}.  [default: libc]")  # fmt: skip
@counters_option
@block_options
@cpus_option("the first")
@run_options
def command(options: RunOptions, **asked: Any) -> None:
    """Measure memory throughput and latency on BOARD.

    The backing of each buffer (page frames, huge pages) is read before the first repetition and
    after the last; a figure whose backing is not the one asked for is refused.
    """
    from whylate.run.workloads.memory import MemoryTable, has_parameter

    for name in ("source", "routine"):
        used = any(has_parameter(operation, name) for operation in asked["ops"])
        if asked[name] is not None and not used:
            ops = ",".join(asked["ops"])
            raise RequestError(f"--{name} has no effect: --ops {ops} has no {name}")
    run_benchmark(MemoryTable, asked, options)
