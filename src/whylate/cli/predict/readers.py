"""`whylate predict readers`: who calls a function, and for what share of CPU time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from whylate.cli.parameter_types import DURATION, PREDICTED
from whylate.cli.print_json import json_option
from whylate.quantities import format_count, format_number, format_percent
from whylate.text import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.table import Table
    from rich.text import Text

    from whylate.predict.readers import Caller, Readers

_MOST_ROWS = 8


@click.command(name="readers")
@click.argument("file", metavar="SAMPLES")
@click.option("--function", required=True, metavar="NAME",
              help="The function that reads the clock, as perf shows it: read_hpet.")  # fmt: skip
@click.option("--comm", metavar="NAME", help="Count only the time of threads of that name.")
@click.option("--cpus", type=PREDICTED, default=(), metavar="N,…",
              help="Predict what so many CPUs keep of their throughput.")  # fmt: skip
@click.option("--service", "service_ns", type=DURATION, metavar="TIME",
              help="How long a call takes that does not wait, for calls per µs.")  # fmt: skip
@json_option
def command(
    file: str, function: str, comm: str | None, cpus: tuple[int, ...], service_ns: int | None,
    as_json: bool,
) -> None:  # fmt: skip
    """Show who calls a function, from where, and for what share of CPU time.

    SAMPLES is the text of perf script --ns after perf record -e cpu-clock -F 997 -a -g; - reads the
    standard input. With --cpus the share gives the time between calls of a closed network.

    Exit status: 0 done, 3 the function is in no sample, or its share gives no network.
    """
    from whylate.cli.predict.options import print_answer
    from whylate.cli.trace_files import open_trace, trace_name
    from whylate.predict.readers import predict_readers
    from whylate.recording.traces.cpu_samples import read_cpu_samples

    with open_trace(file, "name the file of the samples in it") as stream:
        name = trace_name(file)
        samples = read_cpu_samples(stream, name, function, comm)
    answer = predict_readers(file, function, samples, cpus, service_ns)
    print_answer("readers", answer, _lines(answer), as_json=as_json)
    is_there = bool(answer.paths) and (not cpus or bool(answer.predicted))
    sys.exit(0 if is_there else 3)


def _lines(answer: Readers) -> Iterator[Table | Text]:
    from rich.text import Text

    share = answer.share
    limits = f"[{format_percent(share.low, 1)}, {format_percent(share.high, 1)}]"
    yield Text(
        f"{plain(answer.function, 120)}: {format_percent(share.share, 1)} {limits} of the time of "
        f"{answer.cpus} CPUs, by {format_count(answer.samples)} samples in "
        f"{answer.seconds:.4g} s",
        style="bold",
    )
    yield _table("thread", answer.threads)
    yield _table("called by", answer.paths)
    if answer.without_path:
        yield Text(
            f"{format_count(answer.without_path)} samples have no call path (perf record -g)"
        )
    if answer.think_per_service is not None:
        high = "∞" if answer.think_high is None else format_number(answer.think_high)
        yield Text(
            f"between two calls {format_number(answer.think_per_service)} times as long as a call "
            f"[{format_number(answer.think_low or 0.0)}, {high}]"
        )
    for scaled in answer.predicted:
        calls = (
            "" if scaled.throughput is None else f", {format_number(scaled.throughput)} calls/µs"
        )
        yield Text(
            f"{format_count(scaled.cpus)} CPUs keep {format_percent(scaled.kept, 1)} "
            f"[{format_percent(scaled.low, 1)}, {format_percent(scaled.high, 1)}] of their "
            f"throughput{calls}"
        )
    if answer.no_model:
        yield Text(f"no model  {plain(answer.no_model, 200)}", style="yellow")
    for text in answer.notes:
        yield Text(f"note  {plain(text, 300)}", style="dim")
    for text in answer.supposes:
        yield Text(f"supposes  {plain(text, 300)}", style="dim")
    if answer.unread:
        yield Text(f"{format_count(answer.unread)} lines were not understood")


def _table(heading: str, callers: Sequence[Caller]) -> Table:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim")
    table.add_column(heading, overflow="fold")
    for name in ("samples", "share"):
        table.add_column(name, justify="right")
    for caller in callers[:_MOST_ROWS]:
        table.add_row(
            " ← ".join(plain(name, 60) for name in caller.names) or "(not known)",
            format_count(caller.samples),
            format_percent(caller.share, 1),
        )
    if len(callers) > _MOST_ROWS:
        rest = callers[_MOST_ROWS:]
        table.add_row(
            f"{len(rest)} more",
            format_count(sum(caller.samples for caller in rest)),
            format_percent(sum(caller.share for caller in rest), 1),
        )
    return table
