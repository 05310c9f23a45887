"""Print for how long interrupts or preemption are disabled, and who ends that."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.report.off import (
    BIN_COLUMNS,
    bin_rows,
    line_columns,
    line_rows,
    mark_columns,
    mark_numbers,
    mark_rows,
    more_lines,
    off_headline,
    quantile_text,
    why_text,
)
from whylate.summary.off import OffFigures

#: Rows of the tables, and callers in each.
_MOST_LINES, _MOST_MARKS, _CALLERS = 8, 5, 3


def print_off(off: OffFigures, console: Console) -> None:
    """Print the tables of a recording."""
    console.print(Text(off_headline(off)))
    for text in (why_text(off), quantile_text(off)):
        if text:
            console.print(Text(text))
    console.print()
    _print(line_columns(off), line_rows(off, _MOST_LINES, _CALLERS), 4, console)
    if text := more_lines(off, _MOST_LINES, _CALLERS):
        console.print(Text(text, style="dim"))
    _print(mark_columns(off), mark_rows(off, _MOST_MARKS, _CALLERS), mark_numbers(off), console)
    _print(BIN_COLUMNS, bin_rows(off), 2, console)


def _print(
    columns: Sequence[str], rows: Sequence[tuple[str, ...]], numbers: int, console: Console
) -> None:
    """Print a table; numbers: how many of its columns are."""
    if not rows:
        return
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_edge=False)
    for at, column in enumerate(columns):
        table.add_column(Text(column), justify="right" if at < numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    console.print()
