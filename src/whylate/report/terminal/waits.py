"""Print what a watched program's threads waited for."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.report.waits import COLUMNS, NOTE, NOTHING, TEXTS, UNKNOWN, left_out, wait_rows
from whylate.summary.model import Summary

#: Groups of waits that are shown.
_SHOWN = 6


def print_waits(summary: Summary, console: Console) -> None:
    """Print the first groups of waits, and what the table lacks."""
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_edge=False)
    # One column of text: three of them do not fit a narrow screen.
    table.add_column("", overflow="fold")
    for name in COLUMNS[TEXTS:]:
        table.add_column(name, justify="right", no_wrap=True)
    for row in wait_rows(summary.waits, _SHOWN):
        table.add_row(Text(_sentence(*row[:TEXTS])), *(Text(cell) for cell in row[TEXTS:]))
    console.print(Text(NOTE))
    console.print(table)
    note = left_out(summary, _SHOWN, "the report")
    if note:
        console.print(Text(note, style="dim"))


def _sentence(thread: str, place: str, waker: str) -> str:
    if waker == NOTHING:
        return thread
    return f"{thread}{'' if place == UNKNOWN else f' in {place}'}, woken by {waker}"
