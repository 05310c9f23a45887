"""`whylate predict clock`: readers of one clock on many CPUs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from whylate.cli.parameter_types import PREDICTED
from whylate.cli.predict.options import forecast_options, open_benchmark, show_answer


@click.command(name="clock")
@click.option("--cpus", type=PREDICTED, required=True, metavar="N,…",
              help="How many CPUs read it.")  # fmt: skip
@forecast_options
def command(directory: Path, cpus: tuple[int, ...], no_keep: bool, as_json: bool) -> None:
    """Predict the calls of N CPUs from a sweep over threads, also if one reading served all.

    RECORDING is of whylate bench clock, with at least three numbers of threads. Fitted is a closed
    network: service, time between calls, and, to four numbers and more, a coherence term.

    Exit status: 0 done, 3 no model.
    """
    from whylate.predict.shared_device import predict_shared_device

    answer = predict_shared_device(open_benchmark(directory), cpus)
    sys.exit(show_answer(answer, None if no_keep else directory, as_json=as_json))
