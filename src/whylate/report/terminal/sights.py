"""Which causes can be told apart on a board, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from whylate.causes.needs import Sees, Sight
from whylate.text import plain

_STYLES = {
    Sees.APART: "green",
    Sees.PARTLY: "yellow",
    Sees.NOT: "red",
    Sees.ABSENT: "cyan",
}


def sights_table(sights: Sequence[Sight]) -> Table:
    """Return a line for each cause; what a board says is shown as plain text."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, width=max(len(sees.value) for sees in Sees))
    table.add_column(no_wrap=True, width=max([len(one.cause.value) for one in sights], default=1))
    table.add_column(overflow="fold")
    for one in sights:
        table.add_row(
            Text(one.sees.value, style=_STYLES[one.sees]), Text(one.cause.value), Text(_why(one))
        )
    return table


def _why(one: Sight) -> str:
    missing = plain(one.missing, 300)
    if one.sees in (Sees.APART, Sees.ABSENT):
        return missing
    return f"missing: {missing}\ncounts as: {one.counts_as}"
