"""Print why some executions of a section took longer."""

from __future__ import annotations

from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.report.executions import duration_text
from whylate.report.section_counters import counter_classes, counter_notes, counts_headline
from whylate.report.sections import (
    COLUMNS,
    LOCK_COLUMNS,
    class_rows,
    lock_rows,
    locks_note,
    longer_headline,
    longer_notes,
)
from whylate.report.terminal.executions import print_counters
from whylate.summary.model import LongerFigures, SectionCounters, SectionFigures, Summary

#: Rows of the table of locks, and callers in each.
_MOST_LOCKS, _CALLERS = 6, 3


def print_section(summary: Summary, section: SectionFigures, console: Console) -> None:
    """Print why executions took longer, their waits for locks, and what was counted of them."""
    if section.duration is not None and (text := duration_text(section.duration)):
        console.print(Text(text))
        console.print()
    if section.longer is not None:
        _print_longer(section.longer, console)
        console.print()
    _print_locks(summary, console)
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


def _print_locks(summary: Summary, console: Console) -> None:
    """Print what threads in the section waited for."""
    rows = lock_rows(summary, _MOST_LOCKS, _CALLERS)
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
    console.print(Text(locks_note(summary, _MOST_LOCKS), style="dim"))
    console.print()
