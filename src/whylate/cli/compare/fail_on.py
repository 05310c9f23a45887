"""--fail-on, and the exit status of comparisons."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from whylate.compare.model import Comparison

#: Exit status of a verdict that was asked to fail, and where none could be given.
FAILED, UNKNOWN = 1, 3

fail_on_option = click.option(
    "--fail-on",
    multiple=True,
    type=click.Choice(["worse", "inconclusive", "no verdict", "better", "same"]),
    help="Exit with status 1 at this verdict. May be repeated.",
)


def status_of(
    found: Sequence[Comparison],
    fail_on: Collection[str],
    unknown: Collection[str] = ("no verdict",),
) -> int:
    """Return the exit status of comparisons; unknown: verdicts that say nothing."""
    if any(one.verdict in fail_on for one in found):
        return FAILED
    return UNKNOWN if any(one.verdict in unknown for one in found) else 0
