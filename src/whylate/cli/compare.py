"""`whylate compare`: is B better than A?"""

from __future__ import annotations

import sys

import click

#: Between the runs of A and those of B, where they are listed.
_BETWEEN = ":"
#: Exit status of a verdict that was asked to fail, and of one that could not be given.
FAILED, UNKNOWN = 1, 3


@click.command(name="compare")
@click.argument("runs", nargs=-1, required=True, metavar="A B")
@click.option("--same", "margins", multiple=True, metavar="STATISTIC:MARGIN",
              help="Call them the same where the ratio of p50, p99, p99.9 or p99.99 is shown to "
              "be within so much: p50:10%. May be repeated.")  # fmt: skip
@click.option("--in-order", is_flag=True,
              help="All of A was made before all of B, and what changed meanwhile may count.",
              )  # fmt: skip
@click.option("--fail-on", multiple=True,
              type=click.Choice(["worse", "inconclusive", "no verdict", "better", "same"]),
              help="Exit with status 1 at this verdict. May be repeated.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, nothing else.")
def command(
    runs: tuple[str, ...],
    margins: tuple[str, ...],
    in_order: bool,
    fail_on: tuple[str, ...],
    as_json: bool,
) -> None:
    """Compare the runs A with the runs B, and say whether B is better.

    A and B are recordings, or directories of recordings. Several stand on either side of a colon:

    \b
      whylate compare old new
      whylate compare old-1 old-2 old-3 : new-1 new-2 new-3

    What is compared is a run, not its samples: the median and the tail of every run, and of runs
    whose differences are no larger than between runs of one side nothing is said.
    """  # noqa: D301 (it is a backspace, by which click keeps lines)
    import msgspec
    from rich.console import Console

    from whylate.cli.sides import margins_of, sides_of
    from whylate.compare.cautions import UnequalError, check_equal
    from whylate.compare.judge import compare
    from whylate.compare.question import Question
    from whylate.report.comparison import print_comparison

    first, second = sides_of(runs)
    try:
        check_equal([*first.runs, *second.runs])
    except UnequalError as error:
        raise click.UsageError(str(error)) from None
    found = compare(first, second, Question(margins=margins_of(margins), in_order=in_order))
    if as_json:
        document = msgspec.json.encode({"format": "whylate-comparison", "version": 1,
                                        **msgspec.to_builtins(found)})  # fmt: skip
        sys.stdout.write(msgspec.json.format(document, indent=2).decode() + "\n")
    else:
        print_comparison(found, Console(highlight=False))
    if found.verdict in fail_on:
        sys.exit(FAILED)
    sys.exit(UNKNOWN if found.verdict == "no verdict" else 0)
