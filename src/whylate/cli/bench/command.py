"""`whylate bench cmd`: any command."""

from __future__ import annotations

from typing import Any

import click

from whylate.cli.bench.options import rounds_option, run_benchmark, what
from whylate.cli.option_groups import CommandWords
from whylate.cli.run_options import RunOptions, counters_option, run_options
from whylate.run.errors import RequestError


@click.command(name="cmd", cls=CommandWords)
@what("--value", metavar="REGEX",
      help="Read a number from the output: the group of the last match.  [default: time it]",
      )  # fmt: skip
@what("--unit", metavar="TEXT", help="With --value: the unit of the number.")
@what("--higher-is-better", is_flag=True, help="With --value: a higher number is better.")
@counters_option
@rounds_option
@run_options
def command(argv: tuple[str, ...] | None, options: RunOptions, **asked: Any) -> None:
    """Run COMMAND on BOARD once a round, and keep its wall and CPU time or a number it prints.

    No shell reads COMMAND, and nothing pins it: for one CPU write taskset -c 2 COMMAND.
    """
    from whylate.run.workloads.command import CommandTable

    for name, given in (("unit", asked["unit"]), ("higher-is-better", asked["higher_is_better"])):
        if given and asked["value"] is None:
            raise RequestError(f"--{name} has no effect without --value")
    run_benchmark(CommandTable, {"command": list(argv or ()), **asked}, options)
