"""`whylate bench clock`: clock reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import click

from whylate.cli.bench.options import COUNTS, block_options, run_benchmark, what, words_of
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.parameter_types import DURATION, PREDICTED, Parsed
from whylate.cli.run_options import RunOptions, counters_option, cpus_option, run_options
from whylate.quantities import parse_ns
from whylate.recording.workloads.clock import CLOCK_NAMES, CLOCKS, HOWS, KERNEL_HOWS, REMEDIES
from whylate.run.errors import RequestError


def _parse_signed(text: str) -> int:
    """Return a time in ns that may have a sign; raises ValueError."""
    text = text.strip()
    ns = parse_ns(text.removeprefix("-"), latency=False)
    if ns is None:
        raise ValueError(f"{text[:40]!r}: invalid time, write it like 1us or -200ns")
    return -ns if text.startswith("-") else ns


_SIGNED = Parsed("time", _parse_signed)


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
@what("--between-cpus", is_flag=True,
      help="Compare the clocks of CPUs instead: the first with each other.")  # fmt: skip
@what("--add-offset", type=_SIGNED, metavar="TIME",
      help="With --between-cpus: add so much to the other CPU's readings, as a check.",
      )  # fmt: skip
@what("--add-rate", type=click.FloatRange(-1000, 1000), metavar="PPM",
      help="With --between-cpus: make the other CPU's clock so much faster, as a check.",
      )  # fmt: skip
@counters_option
@block_options
@cpus_option("all")
@run_options
def command(
    predict: tuple[int, ...], between_cpus: bool, add_offset: int | None, add_rate: float | None,
    options: RunOptions, **asked: Any,
) -> None:  # fmt: skip
    """Measure what a clock read costs on BOARD, and how it scales with threads.

    Threads compare their readings between repetitions: one earlier than a reading that another
    thread had made before is counted as a backward step.

    With --between-cpus two CPUs exchange readings instead: how far the clock of one is ahead of the
    other's, and how much faster it is.
    """
    from whylate.run.workloads.clock import ClockTable

    if between_cpus:
        _compare_cpus(add_offset, add_rate, predict, options, asked)
        return
    for name, given in (("add-offset", add_offset), ("add-rate", add_rate)):
        if given is not None:
            raise RequestError(f"--{name} has no effect without --between-cpus")
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


def _compare_cpus(
    add_offset: int | None,
    add_rate: float | None,
    predict: Sequence[int],
    options: RunOptions,
    asked: Mapping[str, Any],
) -> None:
    """Measure how the clocks of CPUs are to each other, print it, and exit."""
    from whylate.run.workloads.offsets import OffsetsTable

    refused = ("threads", "service", "think", "remedy")
    given = [name for name in refused if asked[name] is not None]
    given += ["via"] if asked["via"] != ("libc",) else []
    given += ["predict"] if predict else []
    if given:
        raise RequestError(f"--between-cpus has no use for --{given[0]}")
    kept = {name: value for name, value in asked.items() if name not in (*refused, "via")}
    if add_rate is not None and not math.isfinite(add_rate):
        raise RequestError("--add-rate takes a number of millionths")
    drift_ppb = None if add_rate is None else round(1e3 * add_rate)
    run_benchmark(OffsetsTable, {**kept, "shift_ns": add_offset, "drift_ppb": drift_ppb}, options)
