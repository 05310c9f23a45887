"""`whylate predict`: the models. A new one is a file here and a line below."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from whylate.cli.lazy_verbs import LazyVerbs
from whylate.cli.print_json import json_option

#: Verb, the module that has it, and the line that `whylate predict --help` shows of it.
VERBS = {
    "scaling": ("predict.scaling", "Predict the throughput of more threads or tasks."),
    "clock": ("predict.clock", "Predict clock reads of many CPUs, also with shared readings."),
    "chunk": ("predict.chunk", "Predict latency and cost of work in chunks under a lock."),
    "asid": ("predict.asid", "Predict flushes with other ids of address spaces."),
    "readers": ("predict.readers", "Show who calls a function, and what that makes of more CPUs."),
    "without": ("predict.without", "Predict latencies without a cause, or with it faster."),
    "models": ("predict.models", "Show which changes have a model, and which have none."),
}


@click.group(name="predict", cls=LazyVerbs, verbs=VERBS, invoke_without_command=True)
@click.option("--score", "directory", type=click.Path(path_type=Path), metavar="DIR",
              help="Show how the forecasts of the recordings in DIR did.")  # fmt: skip
@json_option
@click.pass_context
def command(ctx: click.Context, directory: Path | None, as_json: bool) -> None:
    """Predict what a change would bring, with an interval, and with what that supposes.

    Forecasts are kept in the recording that they were made from (forecasts.jsonl). Where a model
    does not fit, there is no forecast.

    Exit status: 0 done, 3 no model, or nothing to score.
    """
    if ctx.invoked_subcommand is not None:
        if directory is not None or as_json:
            raise click.UsageError("--score goes without a verb, and --json behind the verb")
        return
    if directory is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)
    from whylate.cli.predict.score import show_score

    sys.exit(show_score(directory, as_json=as_json))
