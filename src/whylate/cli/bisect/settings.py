"""`whylate bisect settings`: which settings make the difference of two variants."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from whylate.cli.bisect.options import output_option, statistic_option
from whylate.cli.board_options import environment_option, opener_of
from whylate.cli.compare.fail_on import UNKNOWN
from whylate.cli.interrupt import Interrupt
from whylate.cli.messages import print_message
from whylate.cli.option_groups import GroupedCommand, Heading, option_under
from whylate.cli.print_json import json_option, print_document
from whylate.cli.run_options import new_directory
from whylate.text import plain

_what = option_under(Heading.WHAT)
_length = option_under(Heading.LENGTH)


@click.command(name="settings", cls=GroupedCommand)
@click.argument("plan", type=click.Path(path_type=Path))
@statistic_option
@_length("--runs", type=int, default=256, show_default=True, metavar="N", help="At most N runs.")
@_what("--margin", type=float, default=0.3, show_default=True, metavar="PART",
       help="What is nearer to a variant than this part of the gap behaves like it.")  # fmt: skip
@environment_option
@output_option
@json_option
def command(
    plan: Path,
    statistic: str | None,
    runs: int,
    margin: float,
    environment: Path | None,
    output: Path | None,
    as_json: bool,
) -> None:
    """Find which settings make the difference of two variants.

    PLAN is the plan of a study (whylate study) with two variants and one set of loads. Both are
    run first; then the first variant with some settings of the second one, until a few settings
    explain the gap; and these are confirmed by fresh runs in both directions. Ctrl-C ends it and
    keeps its runs; the same command with the same -o resumes it.

    Exit status: 0 there is an answer, 3 there is none.
    """
    from whylate.bisect.settings.as_json import document
    from whylate.bisect.settings.carry_out import bisect_settings
    from whylate.bisect.settings.journal import BisectJournal
    from whylate.bisect.settings.page import write_page
    from whylate.bisect.settings.plan import bisect_plan
    from whylate.bisect.settings.words import lines_of
    from whylate.cli.bisect.view import BisectView
    from whylate.report.plain_console import plain_console
    from whylate.study.plan_file import read_plan_file, resolve_plan

    study = resolve_plan(read_plan_file(plan))
    wanted = bisect_plan(study, statistic, runs, margin)
    directory = output or new_directory("bisections")
    open_for = opener_of(study.boards, study.smp, environment)
    interrupt = Interrupt()
    with BisectJournal(directory, wanted) as journal, BisectView(wanted) as view:
        result = bisect_settings(journal, wanted, open_for, view, interrupt.wanted)
        made = journal.lines
    page = write_page(directory, wanted, made, result.answer)
    if as_json:
        content = document(wanted, made, result.answer, directory)
        print_document("bisection", {"report": str(page), **content})
    else:
        console = plain_console()
        for line in lines_of(wanted, made, result.answer):
            console.print(plain(line, 1000), soft_wrap=True)
        console.print(f"report  {plain(str(page), 1000)}", soft_wrap=True)
    for board, reason in result.lost.items():
        print_message(f"{board} was given up: {reason}")
    sys.exit(0 if result.answer is not None else UNKNOWN)
