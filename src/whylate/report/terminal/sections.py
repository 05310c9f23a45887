"""Print why some executions of a section took longer."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.report.sections import COLUMNS, class_rows, longer_headline, longer_notes
from whylate.summary.model import LongerFigures


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
