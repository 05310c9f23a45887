"""`whylate predict chunk`: latency and cost of work in chunks."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from whylate.cli.parameter_types import DURATION, CommaList
from whylate.cli.predict.options import show_answer
from whylate.cli.print_json import json_option
from whylate.run.workloads.sweeps import parse_count


def _parse_chunk(text: str) -> int | None:
    return parse_count(text) or None


_CHUNKS = CommaList("numbers", _parse_chunk, "16,128, from 1 item on")


@click.command(name="chunk")
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--items", type=click.IntRange(1, 10**9), required=True, metavar="N",
              help="Items of the whole work.")  # fmt: skip
@click.option("--chunk", "chunks", type=_CHUNKS, required=True, metavar="N,…",
              help="Items between two times that the lock is let go.")  # fmt: skip
@click.option("--period", "period_ns", type=DURATION, metavar="TIME",
              help="Time between two arrivals; chunks that hold the lock longer are not fitted.",
              )  # fmt: skip
@json_option
def command(
    table: Path, items: int, chunks: tuple[int, ...], period_ns: int | None, as_json: bool
) -> None:
    """Predict latency and cost of work that lets go of its lock after chunks of N items.

    TABLE is a CSV of one calibration run, with the columns chunk, work_ns (of the whole work) and
    p50_ns, p99_ns or both (latency of who comes meanwhile), and at least three chunks.

    Exit status: 0 done, 3 no model.
    """
    from whylate.predict.chunk import predict_chunks, read_calibration

    if max(chunks) > items:
        raise click.UsageError(f"--chunk {max(chunks)} is more than all --items: {items}")
    calibration = read_calibration(table, items)
    answer = predict_chunks(calibration, chunks, period_ns)
    status = show_answer(answer, None, as_json=as_json)
    if not as_json:
        click.echo(
            f"knee  {calibration.knee():.0f} items: the smallest measured chunk with which the "
            "work takes at most 15 % longer"
        )
    sys.exit(status)
