"""`whylate compare`: is B better than A?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.compare.fail_on import exit_status, fail_on_option
from whylate.cli.compare.sides import (
    HITS,
    MARGIN,
    WHERE,
    Compared,
    Numbers,
    compare_sides,
    compare_stages,
)
from whylate.cli.messages import writing
from whylate.cli.option_groups import GroupedCommand, Heading, option_under
from whylate.cli.parameter_types import NewPath
from whylate.cli.print_json import json_option, print_json
from whylate.recording.errors import DiskError

if TYPE_CHECKING:
    from whylate.compare.hits import HitDemand
    from whylate.compare.model import Comparison, SideDemand

#: Parts of the environment that a comparison may be about (whylate.compare.environment).
_STUDIED = ("clock", "temperature", "kernel", "command-line")

_compared = option_under(Heading.COMPARED)
_numbers = option_under(Heading.NUMBERS)
_verdict = option_under(Heading.VERDICT)
_output = option_under(Heading.OUTPUT)


@click.command(name="compare", cls=GroupedCommand)
@click.argument("runs", nargs=-1, required=True, metavar="A B")
@_compared("--baseline", metavar="NAME",
           help="The saved runs are A, and all that is named is B. They are of another time: "
           "needs --accept.")  # fmt: skip
@_compared("--accept", is_flag=True,
           help="Give a verdict although A and B differ in boot or time of day, which may be the "
           "cause.")  # fmt: skip
@_compared("--hits", "hits", type=HITS, multiple=True, metavar="NAME[ in A|B]",
           help="The runs must have hit this function or tracepoint (whylate measure --hits), or "
           "have this line of the facts ('facts:l2_errata contains 588369'): else no verdict. "
           "'NAME in B': B must, and A should not; 'NAME only in B': A must not. May be repeated.",
           )  # fmt: skip
@_compared("--boot-stages", is_flag=True,
           help="A and B are soaks (whylate board soak), or one of --compare: compare the time of "
           "each step of their boots.")  # fmt: skip
@_compared("--studied", multiple=True, type=click.Choice(_STUDIED),
           help="This differs on purpose: no warning. May be repeated.")  # fmt: skip
@_verdict("--same", "margins", type=MARGIN, multiple=True,
          help="A statistic is the same if its ratio is shown to be within this margin: p50:10%. "
          "May be repeated.")  # fmt: skip
@fail_on_option
@_numbers("--column", metavar="NAME", help="The heading or the number of the column.")
@_numbers("--by", metavar="COLUMN[,…]",
          help="One file: the rows with the first value in this column are A, the others B. By "
          "several columns: each while the others stay the same.")  # fmt: skip
@_numbers("--where", type=WHERE, multiple=True, metavar="COLUMN=TEXT",
          help="Only rows that match in this column, * matches anything: 'statistic=run *'. May "
          "be repeated.")  # fmt: skip
@_numbers("--pair", metavar="COLUMN,…",
          help="With --by: rows that agree in these columns are a pair.")  # fmt: skip
@_numbers("--run", "run", metavar="COLUMN",
          help="With --pair: rows that agree in this column are one run (a round, a boot) of all "
          "pairs.")  # fmt: skip
@_numbers("--independent", is_flag=True, help="Each number is from its own run and boot.")
@_numbers("--higher-is-better", is_flag=True, help="For rates and the like.")
@_numbers("--unit", default="", metavar="TEXT", help="The unit of the numbers.")
@_output("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@_output("--junit", type=NewPath(), metavar="FILE", help="Write JUnit XML too.")
@_output("--html", type=NewPath(), metavar="FILE", help="Write a page too.")
@json_option
def command(
    runs: tuple[str, ...],
    margins: tuple[tuple[str, float], ...],
    accept: bool,
    boot_stages: bool,
    hits: tuple[HitDemand, ...],
    studied: tuple[str, ...],
    column: str | None,
    by: str | None,
    where: tuple[tuple[str, str], ...],
    pair: str | None,
    run: str | None,
    independent: bool,
    higher_is_better: bool,
    unit: str,
    baseline: str | None,
    fail_on: tuple[str, ...],
    as_markdown: bool,
    junit: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Compare the runs A with the runs B, and say whether B is better.

    A and B are recordings, directories of recordings, or files of other tools or of numbers. A
    colon separates two sides of several; without one, the first is compared with each other:

    \b
      whylate compare old new
      whylate compare old-1 old-2 old-3 : new-1 new-2 new-3
      whylate compare before.txt after.txt --independent

    The unit of comparison is the run, not the sample. All statistics are tested together: better or
    worse is what differs by more than runs of one side differ among themselves.

    Exit status: 0 compared, even if inconclusive, 1 a verdict of --fail-on, 3 no verdict.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    from whylate.compare.cautions import UnequalError
    from whylate.compare.environment import STUDIED
    from whylate.compare.model import Question

    stated = dict(margins)
    if len(stated) < len(margins):
        raise click.UsageError("--same states two margins for one statistic")
    question = Question(
        margins=stated,
        accept=accept,
        higher_is_better=higher_is_better,
        unit=unit,
        hits=_side_demands(hits),
        studied=[STUDIED[word] for word in studied],
    )
    numbers = Numbers(column, by, where, pair, run, independent)
    try:
        if boot_stages:
            compared = compare_stages(runs, question, numbers, baseline)
        else:
            compared = compare_sides(runs, question, numbers, baseline)
    except UnequalError as error:
        raise click.UsageError(str(error)) from None
    comparisons = list(compared.comparisons)
    _write_files(compared, html, junit, fail_on)
    _print(comparisons, as_json=as_json, as_markdown=as_markdown)
    sys.exit(exit_status(comparisons, fail_on))


def _side_demands(hits: Sequence[HitDemand]) -> tuple[SideDemand, ...]:
    """Return what is asked of the sides A and B; raises click.UsageError for another side."""
    from whylate.compare.hits import demands_of_sides

    for demand in hits:
        other = [arm for arm in demand.arms if arm not in ("A", "B")]
        if other:
            raise click.UsageError(f"--hits {demand.name[:60]}: the sides are A and B: {other[0]}?")
    return demands_of_sides(hits, "A", "B")


def _write_files(
    compared: Compared, html: Path | None, junit: Path | None, fail_on: Sequence[str]
) -> None:
    """Write the files that were asked for; raises DiskError."""
    from whylate.report.exports.comparison import junit as junit_document
    from whylate.report.page.comparison import Group, render
    from whylate.report.page.render import write

    if html is not None:
        made = max((run.made for arm in compared.arms for run in arm.runs), default="")
        group = Group("Runs", compared.arms, compared.comparisons)
        with writing(html, DiskError):
            write(html, render("Is B better than A?", [], made, [group]))
    if junit is not None:
        with writing(junit, DiskError):
            junit.write_bytes(junit_document(list(compared.comparisons), tuple(fail_on)))


def _print(comparisons: list[Comparison], *, as_json: bool, as_markdown: bool) -> None:
    import msgspec

    from whylate.report.exports.comparison import markdown
    from whylate.report.plain_console import plain_console
    from whylate.report.terminal.comparison import many, many_text, print_comparison

    if as_json:
        documents = [
            {
                "format": "whylate-comparison",
                "version": 1,
                **msgspec.to_builtins(comparison),
                **many(len(comparisons)),
            }
            for comparison in comparisons
        ]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    if as_markdown:
        sys.stdout.write(markdown(comparisons))
        return
    console = plain_console()
    for number, comparison in enumerate(comparisons):
        if number:
            console.print()
        print_comparison(comparison, console)
    if len(comparisons) > 1:
        console.print(f"\n{many_text(len(comparisons))}")
