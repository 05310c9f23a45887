"""`whylate predict chunk`: latency and cost of work in chunks."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from whylate.cli.parameter_types import DURATION, CommaList
from whylate.cli.predict.options import keep_option, open_benchmark, show_answer
from whylate.cli.print_json import json_option
from whylate.run.sweeps import parse_count


def _parse_chunk(text: str) -> int | None:
    return parse_count(text) or None


_CHUNKS = CommaList("numbers", _parse_chunk, "16,128, from 1 item on")


@click.command(name="chunk")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path),
                metavar="RECORDING...|TABLE")  # fmt: skip
@click.option("--items", type=click.IntRange(1, 10**9), metavar="N",
              help="Items of the whole work of a TABLE; a recording has them.")  # fmt: skip
@click.option("--chunk", "chunks", type=_CHUNKS, required=True, metavar="N,…",
              help="Items between two times that the lock is let go.")  # fmt: skip
@click.option("--period", "period_ns", type=DURATION, metavar="TIME",
              help="Time between two arrivals; chunks that hold the lock longer are not fitted.  "
                   "[default: 200us of a recording]")  # fmt: skip
@keep_option
@json_option
def command(
    paths: tuple[Path, ...], items: int | None, chunks: tuple[int, ...], period_ns: int | None,
    no_keep: bool, as_json: bool,
) -> None:  # fmt: skip
    """Predict latency and cost of work that lets go of its lock after chunks of N items.

    RECORDING is of whylate bench bulk; several of one work on one board are taken together, and the
    newest keeps the forecasts. TABLE is a CSV of one calibration run, with the columns chunk,
    work_ns (of the whole work) and p50_ns, p99_ns or both (latency of who comes meanwhile). Each
    takes at least three chunks.

    Exit status: 0 done, 3 no model.
    """
    from whylate.predict.chunk import predict_chunks, read_calibration, recorded_calibration
    from whylate.predict.workloads.bulk import PERIOD_NS

    keep_in = None
    if all(path.is_dir() for path in paths):
        if items is not None:
            raise click.UsageError("--items is of a TABLE: a recording has its own number of lines")
        calibration = recorded_calibration([open_benchmark(path) for path in paths])
        keep_in = None if no_keep else calibration.path
        period_ns = period_ns or PERIOD_NS
    elif len(paths) > 1:
        raise click.UsageError("name one TABLE alone, or recordings alone")
    elif items is None:
        raise click.UsageError("--items is needed: how many items the whole work of a TABLE has")
    else:
        calibration = read_calibration(paths[0], items)
    if max(chunks) > calibration.items:
        raise click.UsageError(
            f"--chunk {max(chunks)} is more than all --items: {calibration.items}"
        )
    answer = predict_chunks(calibration, chunks, period_ns)
    status = show_answer(answer, keep_in, as_json=as_json)
    if not as_json:
        click.echo(
            f"knee  {calibration.knee():.0f} {calibration.axis}: the smallest measured chunk with "
            "which the work takes at most 15 % longer"
        )
    sys.exit(status)
