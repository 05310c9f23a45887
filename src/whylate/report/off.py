"""Stretches with interrupts or preemption disabled, in words of the terminal and the page."""

from __future__ import annotations

from whylate.quantities import (
    format_count,
    format_percent,
    format_seconds,
    format_short_ns,
)
from whylate.summary.off import OffFigures, OffLine, OffMark, cost_text, join_lines
from whylate.text import plain

#: The headings of the tables, in order.
MARK_COLUMNS = ("lasted", "ended at", "CPU", "thread", "ended in")
BIN_COLUMNS = ("seen for", "stretches")
#: Of what samples show, beside that it was disabled.
_HANDLER = "a handler of an interrupt, until "


def line_columns(off: OffFigures) -> tuple[str, ...]:
    """Return the headings of the table of who ended the stretches."""
    return ("share", "together", f"≥ {format_short_ns(off.period_ns)}", "longest", "ended in")


def off_headline(off: OffFigures) -> str:
    """Say how long it was disabled, how that is known, and what that takes."""
    what = "Interrupts" if off.what == "irqs-off" else "Preemption"
    low, high = (format_short_ns(round(limit)) for limit in (off.low_ns, off.high_ns))
    return (
        f"{what} disabled for {format_short_ns(round(off.per_second_ns))} [{low}–{high}] in a "
        f"second of a CPU, sampled every {format_short_ns(off.period_ns)}; {cost_text(off)}"
    )


def line_rows(off: OffFigures, most: int, callers: int) -> list[tuple[str, ...]]:
    """Return a row for each of those that ended most; most: rows, and callers: in each."""
    return [
        (
            format_percent(line.share, 1),
            format_short_ns(line.total_ns),
            format_count(line.lasting),
            f"≥ {format_short_ns(line.longest_ns)}" if line.lasting else "–",
            _ended(line, callers),
        )
        for line in join_lines(off.lines, callers)[:most]
    ]


def mark_rows(off: OffFigures, most: int, callers: int) -> list[tuple[str, ...]]:
    """Return a row for each of the longest that was seen for a period."""
    return [
        (
            f"{format_short_ns(mark.low_ns)} to {format_short_ns(mark.high_ns)}",
            format_seconds(mark.at_ns / 1e9),
            str(mark.cpu),
            plain(f"{mark.comm}/{mark.pid}", 40),
            _ended(mark, callers),
        )
        for mark in off.longest[:most]
        if mark.low_ns >= off.period_ns
    ]


def bin_rows(off: OffFigures) -> list[tuple[str, ...]]:
    """Return a row for each length that any stretch of a period or more had."""
    return [
        (
            f"{format_short_ns(bin_.low_ns)} to {format_short_ns(bin_.high_ns)}",
            format_count(bin_.count),
        )
        for bin_ in off.bins
        if bin_.count
    ]


def more_lines(off: OffFigures, most: int, callers: int) -> str:
    """Say how many rows the table of who ended them leaves out; "" where none."""
    left = len(join_lines(off.lines, callers)) - most
    if left <= 0:
        return ""
    which = "1 more is" if left == 1 else f"{format_count(left)} more are"
    return f"{which} in the output of --json."


def _ended(line: OffLine | OffMark, callers: int) -> str:
    path = " ← ".join(plain(name, 80) for name in line.callers[:callers]) or "all others"
    return f"{_HANDLER}{path}" if line.why == "handler" else path
