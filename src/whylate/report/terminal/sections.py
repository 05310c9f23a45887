"""Print why some executions of a section took longer."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.report.section_counters import counter_classes, counter_notes, counts_headline
from whylate.report.sections import COLUMNS, class_rows, longer_headline, longer_notes
from whylate.report.terminal.executions import print_counters
from whylate.summary.model import LongerFigures, SectionCounters, SectionFigures


def print_section(section: SectionFigures, console: Console) -> None:
    """Print why executions took longer, and what was counted of them."""
    if section.longer is not None:
        _print_longer(section.longer, console)
        console.print()
    if section.counters is not None:
        _print_counts(section.counters, console)
        console.print()


def _print_longer(longer: LongerFigures, console: Console) -> None:
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


def _print_counts(counters: SectionCounters, console: Console) -> None:
    """Print what was counted of executions."""
    console.print(Text(counts_headline(counters)))
    if counters.counters:
        print_counters(counters.counters, counters.fits, console)
    console.print(Text(counter_classes(counters)))
    for note in counter_notes(counters):
        console.print(Text(note, style="dim"))
