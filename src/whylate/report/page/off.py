"""For how long interrupts or preemption are disabled, as tables of a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whylate.report.off import (
    BIN_COLUMNS,
    bin_rows,
    line_columns,
    line_rows,
    mark_columns,
    mark_numbers,
    mark_rows,
    off_headline,
    quantile_text,
    why_text,
)
from whylate.summary.off import OffFigures

#: Rows of the tables; all callers are in each.
_MOST_LINES, _MOST_MARKS, _CALLERS = 40, 20, 24


@dataclass(frozen=True)
class OffTable:
    """A table. numbers: how many of its columns are."""

    title: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    numbers: int


@dataclass(frozen=True)
class OffTables:
    """The headline, and the tables that have rows."""

    headline: str
    tables: Sequence[OffTable]


def off_tables(off: OffFigures) -> OffTables:
    """Return what the page shows of a recording."""
    marks = mark_rows(off, _MOST_MARKS, _CALLERS)
    tables = (
        OffTable("Who ended it", line_columns(off), line_rows(off, _MOST_LINES, _CALLERS), 4),
        OffTable(
            "High-water marks",
            mark_columns(off),
            marks,
            mark_numbers(off),
        ),
        OffTable("How long", BIN_COLUMNS, bin_rows(off), 2),
    )
    texts = [text for text in (off_headline(off), why_text(off), quantile_text(off)) if text]
    return OffTables(
        " ".join(text.rstrip(".") + "." for text in texts),
        [table for table in tables if table.rows],
    )
