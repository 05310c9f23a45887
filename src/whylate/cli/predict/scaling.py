"""`whylate predict scaling`: more threads or tasks than were measured."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from whylate.cli.parameter_types import PREDICTED
from whylate.cli.predict.options import forecast_options, open_benchmark, show_answer


@click.command(name="scaling")
@click.option("--threads", "--tasks", "numbers", type=PREDICTED, required=True, metavar="N,…",
              help="How many threads, or tasks of a ring.")  # fmt: skip
@forecast_options
def command(directory: Path, numbers: tuple[int, ...], no_keep: bool, as_json: bool) -> None:
    """Predict the throughput of N threads or tasks from those measured in RECORDING.

    By the Universal Scalability Law, fitted to at least four numbers; a single thread need not be
    among them. Where the law does not fit there is no forecast.

    Exit status: 0 done, 3 no model.
    """
    from whylate.predict.scaling import predict_scaling

    answer = predict_scaling(open_benchmark(directory), numbers)
    sys.exit(show_answer(answer, None if no_keep else directory, as_json=as_json))
