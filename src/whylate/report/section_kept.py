"""The longest executions of a section, in words that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.quantities import format_count, format_short_ns
from whylate.summary.model import KeptFigures, LongExecution

#: Parts that mostly none of the executions has.
_RARE = frozenset(("page fault", "steal"))


def kept_columns(kept: KeptFigures) -> tuple[str, ...]:
    """Return the headings of the table, in order."""
    short = (name.removeprefix("waiting for a ") for name in _parts(kept))
    return ("took", "began at", "CPU", "thread", *short, "drawn")


def kept_rows(kept: KeptFigures, most: int) -> list[tuple[str, ...]]:
    """Return a row for each of the longest executions."""
    return [_row(each, _parts(kept)) for each in kept.longest[:most]]


def _parts(kept: KeptFigures) -> list[str]:
    """Return the names of the parts that have a column: of the rarer ones those that are there."""
    names = kept.longest[0].parts if kept.longest else {}
    return [
        name
        for name in names
        if name not in _RARE or any(each.parts[name] for each in kept.longest)
    ]


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


def _row(each: LongExecution, parts: Sequence[str]) -> tuple[str, ...]:
    return (
        format_short_ns(each.duration_ns),
        format_short_ns(each.began_ns),
        str(each.cpu),
        str(each.pid),
        *(format_short_ns(each.parts[name]) if each.parts[name] else "–" for name in parts),
        "yes" if each.is_drawn else "no",
    )
