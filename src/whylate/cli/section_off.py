"""`whylate section irqs-off`: for how long are interrupts disabled, and by whom?"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click
from click.core import ParameterSource

from whylate.cli.report.benchmark import show_benchmarks
from whylate.cli.run_options import RunOptions, make_runs
from whylate.recording.workloads.benchmarks import CounterPlan
from whylate.recording.workloads.off import Asked
from whylate.run.errors import RequestError
from whylate.run.workloads.off import DEFAULT_PERIOD_NS, off_workload

#: Options of `whylate section` that say how executions are timed and kept.
OF_EXECUTIONS = (
    *("listed", "comm", "pid", "requirements", "one_in", "keep_above_ns", "locks"),
    *("engine", "threshold_ns", "paths", "samples", "experiment", "spool"),
)


def check_options(name: str, context: click.Context) -> None:
    """Raise RequestError for an option that is of executions."""
    for parameter in context.command.params:
        given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if given and parameter.name in OF_EXECUTIONS:
            option = parameter.opts[0]
            raise RequestError(f"{option} is for executions of code, and {name} has none")


#: By what `--hook` names.
METHODS: dict[str, Asked] = {"best": "best", "samples": "sampled", "tracepoints": "tracepoints"}


def sample_off(
    what: str,
    duration_ns: int,
    period_ns: int | None,
    hook: str,
    counters: Sequence[str],
    options: RunOptions,
) -> None:
    """Look on each board for how long it is disabled, print it, and exit."""
    if hook not in METHODS:
        raise RequestError(f"{what} takes --hook {', '.join(METHODS)}")
    workload = off_workload(
        what,
        duration_ns,
        period_ns or DEFAULT_PERIOD_NS,
        METHODS[hook],
        [CounterPlan(name) for name in dict.fromkeys(counters)],
    )
    outcomes = make_runs(workload, options)
    sys.exit(show_benchmarks(outcomes, as_json=options.as_json))
