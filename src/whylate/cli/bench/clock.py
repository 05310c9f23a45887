"""`whylate bench clock`: clock reads."""

from __future__ import annotations

from typing import Any

import click

from whylate.cli.bench.options import COUNTS, block_options, run_benchmark, what, words_of
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.parameter_types import DURATION, PREDICTED
from whylate.cli.run_options import RunOptions, counters_option, cpus_option, run_options
from whylate.recording.workloads.clock import CLOCKS, HOWS, REMEDIES
from whylate.run.errors import RequestError
from whylate.run.workloads.clock import CLOCK_NAMES, KERNEL_HOWS, ClockTable


@click.command(name="clock", cls=GroupedCommand)
@what("--clocks", type=words_of(tuple(CLOCKS)), metavar="NAME,…",
      help=f"Of {', '.join(CLOCKS)}.  [default: {','.join(CLOCK_NAMES)}]")  # fmt: skip
@what("--threads", type=COUNTS, metavar="N,…",
      help="How many threads read it at once.  [default: 1]")  # fmt: skip
@what("--via", type=words_of(HOWS), default=("libc",), metavar="WAY,…",
      help="libc, syscall, hpet (/dev/hpet mapped), device (an emulated one).  [default: libc]",
      )  # fmt: skip
@what("--service", type=DURATION, metavar="TIME",
      help="With --via device: mean time for which the device serves a call.")  # fmt: skip
@what("--think", type=DURATION, metavar="TIME",
      help="With --via device: mean time between two calls of a thread.")  # fmt: skip
@what("--remedy", type=words_of(REMEDIES), metavar="FORM,…",
      help=f"With --via device,hpet: share the reads, as {', '.join(REMEDIES)}.")  # fmt: skip
@what("--predict", type=PREDICTED, default=(), metavar="N,…",
      help="Predict the throughput of N threads from those measured.")  # fmt: skip
@counters_option
@block_options
@cpus_option("all")
@run_options
def command(predict: tuple[int, ...], options: RunOptions, **asked: Any) -> None:
    """Measure what a clock read costs on BOARD, and how it scales with threads.

    Threads compare their readings between repetitions: one earlier than a reading that another
    thread had made before is counted as a backward step.
    """
    unused = {
        "clocks": ("libc or syscall", set(KERNEL_HOWS)),
        "service": ("device", {"device"}),
        "think": ("device", {"device"}),
        "remedy": ("device or hpet", {"device", "hpet"}),
    }
    for name, (wanted, ways) in unused.items():
        if asked[name] is not None and not ways & set(asked["via"]):
            raise RequestError(f"--{name} has no effect without --via {wanted}")
    run_benchmark(ClockTable, asked, options, predict)
