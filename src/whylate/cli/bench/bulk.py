"""`whylate bench bulk`: bulk work under one lock, in chunks."""

from __future__ import annotations

from typing import Any

import click

from whylate.cli.bench.options import block_options, run_benchmark, what
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.parameter_types import CommaList
from whylate.cli.run_options import RunOptions, counters_option, cpus_option, run_options
from whylate.run.sweeps import parse_chunk

_CHUNKS = CommaList("numbers of lines, all, tuned", parse_chunk, "1,128,all,tuned")


@click.command(name="bulk", cls=GroupedCommand)
@what("--lines", type=click.IntRange(1, 1 << 20), metavar="N",
      help="Lines of the cache that are made dirty and cleaned.  [default: 16384]")  # fmt: skip
@what("--chunk", type=_CHUNKS, metavar="N,…",
      help="Lines for which the lock is held; all; tuned: as remedies/bulk_work.h chooses.  "
           "[default: 1,16,128,512,all,tuned]")  # fmt: skip
@counters_option
@block_options
@cpus_option("the first")
@run_options
def command(options: RunOptions, **asked: Any) -> None:
    """Measure for how long bulk work under one lock delays others on BOARD, by its chunks.

    Lines of the cache are cleaned while a signal is blocked, as a lock that disables interrupts
    blocks those. A timer sends it every 200 µs; its delay is from when it expired.
    """
    from whylate.run.workloads.bulk import BulkTable

    run_benchmark(BulkTable, asked, options)
