"""Which causes are observable on a board, as a table."""

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
    """Return a line for each cause; texts of the board are plain text."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True, width=max(len(observable.value) for observable in Observable))
    table.add_column(
        no_wrap=True, width=max([len(cause.cause.value) for cause in observability], default=1)
    )
    table.add_column(overflow="fold")
    for cause in observability:
        table.add_row(
            Text(cause.observable.value, style=_STYLES[cause.observable]),
            Text(cause.cause.value),
            Text(_why(cause)),
        )
    return table


def _why(cause: Observability) -> str:
    missing = plain(cause.missing, 300)
    if cause.observable in (Observable.YES, Observable.ABSENT):
        return missing
    return f"missing: {missing}\ncounts as: {cause.counts_as}"
