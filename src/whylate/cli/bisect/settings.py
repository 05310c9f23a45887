"""`whylate bisect settings`: which settings make the difference of two variants."""

from __future__ import annotations

from pathlib import Path

import click

from whylate.cli.bisect.options import (
    exclude_option,
    junit_option,
    keep_option,
    margin_option,
    output_option,
    pin_option,
    runs_option,
    statistic_option,
)
from whylate.cli.board_options import environment_option, opener_of, wait_option, waiting_shown
from whylate.cli.interrupt import Interrupt
from whylate.cli.option_groups import GroupedCommand
from whylate.cli.print_json import json_option
from whylate.cli.run_options import new_directory


@click.command(name="settings", cls=GroupedCommand)
@click.argument("plan", type=click.Path(path_type=Path))
@exclude_option
@keep_option
@pin_option
@statistic_option
@runs_option
@margin_option
@environment_option
@wait_option
@output_option
@junit_option
@json_option
def command(
    plan: Path,
    exclude: tuple[str, ...],
    keep: tuple[str, ...],
    pin: tuple[str, ...],
    statistic: str | None,
    runs: int,
    margin: float,
    environment: Path | None,
    wait_ns: int,
    output: Path | None,
    junit: Path | None,
    as_json: bool,
) -> None:
    """Find which settings make the difference of two variants.

    PLAN is the plan of a study (whylate study) with two variants and one set of loads. Both are
    run first; then the first variant with some settings of the second one, until a few settings
    explain the gap; and these are confirmed by fresh runs in both directions. Ctrl-C ends it and
    keeps its runs; the same command with the same -o resumes it.

    Exit status: 0 there is an answer, 3 there is none.
    """
    from whylate.bisect.sets.carry_out import bisect_sets
    from whylate.bisect.sets.journal import SetsJournal
    from whylate.bisect.settings.choose import without_excluded
    from whylate.bisect.settings.journal import LAYOUT
    from whylate.bisect.settings.plan import bisect_plan
    from whylate.bisect.settings.provision import KnobProvisioner
    from whylate.cli.bisect.result import show_result
    from whylate.cli.bisect.resumable import resumable
    from whylate.cli.bisect.view import BisectView
    from whylate.study.plan_file import read_plan_file, resolve_plan

    study = resolve_plan(without_excluded(read_plan_file(plan), exclude))
    wanted = bisect_plan(study, statistic, runs, margin, keep=keep, pin=pin)
    directory = output or new_directory("bisections")
    interrupt = Interrupt()
    waiting = waiting_shown(wait_ns / 1e9, interrupt, lambda: view)
    open_for = opener_of(study.boards, study.smp, environment, waiting)
    provisioner = KnobProvisioner(wanted)
    with (
        resumable(directory),
        SetsJournal(directory, LAYOUT, wanted) as journal,
        BisectView(provisioner.sets, journal.lines) as view,
    ):
        result = bisect_sets(journal, provisioner, open_for, view, interrupt.wanted)
        made = journal.lines
    show_result(provisioner.sets, made, result, directory, junit=junit, as_json=as_json)
