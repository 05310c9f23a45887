"""What the benchmarks have in common: how much is measured, and how it is run and printed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from whylate.cli.option_groups import Heading, option_under
from whylate.cli.parameter_types import DURATION, CommaList
from whylate.cli.run_options import RunOptions, make_runs
from whylate.run.sweeps import parse_count, parse_size

if TYPE_CHECKING:
    from whylate.run.workloads.tables import BenchmarkTable

what = option_under(Heading.WHAT)
_how_much = option_under(Heading.LENGTH)

COUNTS = CommaList("numbers", parse_count, "2,4,8")
SIZES = CommaList("sizes", parse_size, "0,4k,64M")

rounds_option = _how_much(
    "--rounds", type=click.IntRange(1, 1000), metavar="N", default=10, show_default=True,
    help="How often every point is set up and measured.")  # fmt: skip
_BLOCK_OPTIONS = (
    rounds_option,
    _how_much("--repetitions", type=click.IntRange(1, 1000), metavar="N", default=5,
              show_default=True, help="Repetitions of a point in each round."),
    _how_much("--block", type=DURATION, metavar="TIME",
              help="About how long a repetition is.  [default: 50ms; memory 20ms]"),
    option_under(Heading.WHERE)("--free", is_flag=True,
                                help="Pin nothing: the scheduler chooses the CPUs."),
)  # fmt: skip


def block_options(verb: Callable[..., None]) -> Callable[..., None]:
    """Give a benchmark the options of those whose repetitions are blocks."""
    for option in reversed(_BLOCK_OPTIONS):
        verb = option(verb)
    return verb


def words_of(names: Sequence[str]) -> CommaList[str]:
    """Return the type of an option that takes some of these words."""
    return CommaList("words", lambda word: word if word in names else None, ",".join(names))


def run_benchmark(
    table: type[BenchmarkTable],
    asked: Mapping[str, Any],
    options: RunOptions,
    predict: Sequence[int] = (),
) -> None:
    """Measure a benchmark on each board, print it, and exit.

    table: the benchmark as a study's plan has it. asked: its keys; None: the table's default.
    predict: numbers of threads for which the throughput is predicted.
    """
    from whylate.run.workloads.tables import workload_of

    given = {key: value for key, value in asked.items() if value is not None}
    outcomes = make_runs(workload_of(table(**given)), options)
    # Only where there is something to show: it brings numpy and rich.
    from whylate.cli.report.benchmark import show_benchmarks

    sys.exit(show_benchmarks(outcomes, as_json=options.as_json, predict=predict))
