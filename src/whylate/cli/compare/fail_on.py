"""--fail-on, and the exit status of comparisons."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

from whylate.cli.option_groups import Heading, option_under

if TYPE_CHECKING:
    from whylate.compare.model import Comparison

#: Exit status of a verdict of --fail-on, and where there is no verdict.
FAILED, UNKNOWN = 1, 3

fail_on_option = option_under(Heading.VERDICT)(
    "--fail-on", multiple=True,
    type=click.Choice(["worse", "inconclusive", "no verdict", "better", "same"]),
    help="Exit with status 1 at this verdict. May be repeated.")  # fmt: skip


def exit_status(
    comparisons: Sequence[Comparison],
    fail_on: Collection[str],
    unknown: Collection[str] = ("no verdict",),
) -> int:
    """Return the exit status of comparisons; unknown: verdicts that decide nothing."""
    verdicts = {comparison.verdict for comparison in comparisons}
    if verdicts.intersection(fail_on):
        return FAILED
    return UNKNOWN if verdicts.intersection(unknown) else 0
