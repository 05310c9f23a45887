"""The longest executions of a section, in words that the terminal and the page share."""

from __future__ import annotations

from whylate.quantities import format_count, format_short_ns
from whylate.summary.model import KeptFigures, LongExecution


def kept_columns(kept: KeptFigures) -> tuple[str, ...]:
    """Return the headings of the table, in order."""
    parts = kept.longest[0].parts if kept.longest else {}
    short = (name.removeprefix("waiting for a ") for name in parts)
    return ("took", "began at", "CPU", "thread", *short, "drawn")


def kept_rows(kept: KeptFigures, most: int) -> list[tuple[str, ...]]:
    """Return a row for each of the longest executions."""
    return [_row(each) for each in kept.longest[:most]]


def kept_lines(kept: KeptFigures) -> list[str]:
    """Say which executions have a row, and which figures they are in."""
    if kept.apart:
        which = "1 has" if kept.apart == 1 else f"{format_count(kept.apart)} have"
        which += " a row for that alone, and no part in any figure but this table"
    else:
        which = "none has a row for that alone"
    text = f"Every execution above {format_short_ns(kept.above_ns)} is kept; {which}."
    if kept.dropped:
        text += f" {format_count(kept.dropped)} rows were lost, and some may be of such."
    return [text]


def _row(each: LongExecution) -> tuple[str, ...]:
    return (
        format_short_ns(each.duration_ns),
        format_short_ns(each.began_ns),
        str(each.cpu),
        str(each.pid),
        *(format_short_ns(part) if part else "–" for part in each.parts.values()),
        "yes" if each.is_drawn else "no",
    )
