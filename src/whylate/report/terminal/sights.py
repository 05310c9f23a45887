"""Which causes can be told apart on a board, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from whylate.causes.observability import Observability, Observable
from whylate.text import plain

_STYLES = {
    Observable.YES: "green",
    Observable.PARTLY: "yellow",
    Observable.NO: "red",
    Observable.ABSENT: "cyan",
}


def sights_table(observability: Sequence[Observability]) -> Table:
    """Return a line for each cause; what a board says is shown as plain text."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, width=max(len(observable.value) for observable in Observable))
    table.add_column(
        no_wrap=True, width=max([len(one.cause.value) for one in observability], default=1)
    )
    table.add_column(overflow="fold")
    for one in observability:
        table.add_row(
            Text(one.observable.value, style=_STYLES[one.observable]),
            Text(one.cause.value),
            Text(_why(one)),
        )
    return table


def _why(one: Observability) -> str:
    missing = plain(one.missing, 300)
    if one.observable in (Observable.YES, Observable.ABSENT):
        return missing
    return f"missing: {missing}\ncounts as: {one.counts_as}"
