"""`whylate compare`: is B better than A?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from whylate.cli.compare.fail_on import fail_on_option, status_of
from whylate.cli.compare.sides import Margin, Where
from whylate.cli.print_json import print_json

if TYPE_CHECKING:
    from whylate.cli.compare.sides import Compared
    from whylate.compare.model import Comparison


@click.command(name="compare")
@click.argument("runs", nargs=-1, required=True, metavar="A B")
@click.option("--same", "margins", type=Margin(), multiple=True,
              help="Call them the same where the ratio of a statistic is shown to be within so "
              "much: p50:10%. May be repeated.")  # fmt: skip
@click.option("--accept", is_flag=True,
              help="Give a verdict also where A and B are from other boots or times, of which the "
              "difference may be.")  # fmt: skip
@click.option("--column", metavar="NAME",
              help="Files: the heading or the number of the column.")  # fmt: skip
@click.option("--by", metavar="COLUMN",
              help="One file: its rows with one value in this column are A, the others B.",
              )  # fmt: skip
@click.option("--where", type=Where(), multiple=True, metavar="COLUMN=TEXT",
              help="Files: the rows that have this in a column alone, * stands for anything: "
              "'statistic=run *'. May be repeated.")  # fmt: skip
@click.option("--pair", metavar="COLUMN,…",
              help="With --by: rows that agree in these columns are a pair.")  # fmt: skip
@click.option("--independent", is_flag=True,
              help="Files: each number is from a run, and a boot, of its own.")  # fmt: skip
@click.option("--higher-is-better", is_flag=True, help="Files: of rates and the like.")
@click.option("--unit", default="", help="Files: what the numbers are.")
@click.option("--baseline", metavar="NAME",
              help="Take A from here; all that is named is B. It is of another time: --accept "
              "that.")  # fmt: skip
@fail_on_option
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown.")
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE",
              help="Write JUnit's XML too.")  # fmt: skip
@click.option("--html", type=click.Path(path_type=Path), metavar="FILE", help="Write a page too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    runs: tuple[str, ...],
    margins: tuple[tuple[str, float], ...],
    accept: bool,
    column: str | None,
    by: str | None,
    where: tuple[tuple[str, str], ...],
    pair: str | None,
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

    A and B are recordings, directories of recordings, or files of other tools or of numbers.
    Several stand on either side of a colon; without one, each is compared with the first:

    \b
      whylate compare old new
      whylate compare old-1 old-2 old-3 : new-1 new-2 new-3
      whylate compare before.txt after.txt --independent

    What is compared is the run, not its samples. All statistics are tested together, and only what
    differs by more than runs of one side do is called better or worse. Exit status 0, also where it
    is inconclusive, 1 at a verdict of --fail-on, 3 where there is no verdict.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    from whylate.cli.compare.sides import comparisons_of
    from whylate.compare.cautions import UnequalError
    from whylate.compare.question import Question

    question = Question(
        margins=_margins(margins), accept=accept, higher_is_better=higher_is_better, unit=unit
    )
    try:
        compared = comparisons_of(
            runs,
            question,
            column=column,
            by=by,
            where=where,
            pair=pair,
            independent=independent,
            baseline=baseline,
        )
    except UnequalError as error:
        raise click.UsageError(str(error)) from None
    found = list(compared.found)
    if html is not None:
        _write_page(html, compared)
    if junit is not None:
        _write_junit(junit, found, fail_on)
    _print(found, as_json=as_json, as_markdown=as_markdown)
    sys.exit(status_of(found, fail_on))


def _margins(stated: Sequence[tuple[str, float]]) -> dict[str, float]:
    """Return margins by their statistics; raises click.UsageError for one that has two."""
    found = dict(stated)
    if len(found) < len(stated):
        raise click.UsageError("--same states two margins for one statistic")
    return found


def _write_page(path: Path, compared: Compared) -> None:
    from whylate.recording.errors import DiskError
    from whylate.report.page.comparison import Group, render, write

    made = max((run.made for arm in compared.arms for run in arm.runs), default="")
    group = Group("Runs", compared.arms, compared.found)
    try:
        write(path, render("Is B better than A?", [], made, [group]))
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None


def _write_junit(path: Path, found: list[Comparison], fail_on: tuple[str, ...]) -> None:
    from whylate.recording.errors import DiskError
    from whylate.report.exports.comparison import junit

    try:
        path.write_bytes(junit(found, fail_on))
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None


def _print(found: list[Comparison], *, as_json: bool, as_markdown: bool) -> None:
    import msgspec

    from whylate.report.exports.comparison import markdown
    from whylate.report.plain_console import plain_console
    from whylate.report.terminal.comparison import many, many_text, print_comparison

    if as_json:
        documents = [
            {
                "format": "whylate-comparison",
                "version": 1,
                **msgspec.to_builtins(one),
                **many(len(found)),
            }
            for one in found
        ]
        print_json(documents[0] if len(documents) == 1 else documents)
        return
    if as_markdown:
        sys.stdout.write(markdown(found))
        return
    console = plain_console()
    for number, one in enumerate(found):
        if number:
            console.print()
        print_comparison(one, console)
    if len(found) > 1:
        console.print(f"\n{many_text(len(found))}")
