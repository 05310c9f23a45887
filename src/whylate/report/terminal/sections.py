"""Print why some executions of a section took longer."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.report.sections import (
    COLUMNS,
    LOCK_COLUMNS,
    class_rows,
    lock_rows,
    locks_note,
    longer_headline,
    longer_notes,
)
from whylate.summary.model import LongerFigures, Summary


def print_longer(longer: LongerFigures, console: Console) -> None:
    """Print the classes of longer executions."""
    console.print(Text(longer_headline(longer)))
    rows = class_rows(longer)
    if rows:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for heading in COLUMNS:
            table.add_column(heading, justify="left" if heading == "class" else "right")
        for row in rows:
            table.add_row(Text(row.name, style="bold"), *map(Text, row.cells))
        console.print(table)
    for note in longer_notes(longer):
        console.print(Text(note, style="dim"))


def print_locks(summary: Summary, console: Console) -> None:
    """Print what threads in the section waited for."""
    rows = lock_rows(summary)
    if not rows:
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in LOCK_COLUMNS:
        side: Literal["left", "right"] = (
            "right" if heading in ("waits", "total", "longest") else "left"
        )
        table.add_column(heading, justify=side, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    console.print(Text(locks_note(summary), style="dim"))
    console.print()
