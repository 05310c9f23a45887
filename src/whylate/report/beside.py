"""What stands beside the statistics of a comparison: hits, events, and what both sides ran on."""

from __future__ import annotations

from whylate.compare.model import Comparison, HitSide, StatisticRow
from whylate.compare.words import interval_text, names_text, percent_text, signed_text
from whylate.quantities import format_count
from whylate.recording.hits import parse_fact_line
from whylate.text import plain

#: Events that are printed; --json has all.
EVENTS_SHOWN = 16


def hit_lines(comparison: Comparison) -> list[str]:
    """Return a line for each hit: how often it came on both sides."""
    return [
        f"hits of {plain(row.name, 120)}: A {_side_text(row.first, row.name)}, "
        f"B {_side_text(row.second, row.name)}"
        for row in comparison.hits
    ]


def _side_text(side: HitSide, name: str) -> str:
    if side.median is None or side.least is None or side.most is None:
        return "not known"
    partly = f" (of {side.runs - side.known} more it is not known)" * (side.known < side.runs)
    if parse_fact_line(name) is not None:
        return f"in {side.with_hits} of {side.known} runs{partly}"
    if not side.with_hits:
        return f"none in {_runs(side.known)}{partly}"
    low, high = format_count(side.least), format_count(side.most)
    spread = "" if side.least == side.most else f" ({low} … {high})"
    of = "" if side.with_hits == side.known else f", in {side.with_hits} of {_runs(side.known)}"
    return f"{format_count(round(side.median))} a run{spread}{of}{partly}"


def _runs(count: int) -> str:
    return f"{count} run{'s' if count != 1 else ''}"


def environment_line(comparison: Comparison) -> str | None:
    """Say which parts of the environment are the same, and which are not known; None: no part."""
    rows = comparison.environment
    same = [
        f"{row.name}{f' {plain(row.first, 60)}' if row.first and _is_short(row.first) else ''}"
        for row in rows
        if row.differs is False
    ]
    studied = [plain(row.text, 200) for row in rows if row.differs and row.studied]
    unknown = [row.name for row in rows if row.differs is None]
    parts = [
        f"the same in A and B: {names_text(same)}" if same else "",
        f"studied: {'; '.join(studied)}" if studied else "",
        f"not known of both sides: {names_text(unknown)}" if unknown else "",
    ]
    return "; ".join(filter(None, parts)) or None


def _is_short(text: str) -> bool:
    return len(text) <= 40


def event_cells(row: StatisticRow) -> tuple[str, str, str, str, str]:
    """Return an event's name, both values, their change and its interval."""
    change, interval = "–", "–"
    if row.ratio is not None:
        change = signed_text(row.ratio) if row.linear else percent_text(row.ratio)
        interval = interval_text(row).strip(" []").replace(", ", " … ") or "–"
    return plain(row.name, 80), _count(row.first), _count(row.second), change, interval


def _count(value: float | None) -> str:
    if value is None:
        return "–"
    return format_count(round(value)) if value >= 1000 else f"{value:.4g}"


def events_heading(comparison: Comparison) -> str:
    """Say what the events are counted per."""
    units = dict.fromkeys(row.unit for row in comparison.counters)
    return f"events {names_text(list(units))}" if units else ""


def event_lines(comparison: Comparison) -> list[str]:
    """Return a line for each event that both sides counted."""
    lines = []
    for row in comparison.counters[:EVENTS_SHOWN]:
        name, ours, theirs, change, interval = event_cells(row)
        known = "" if interval == "–" else f" [{interval}]"
        lines.append(f"{name} {row.unit}: {ours} → {theirs}, {change}{known}")
    more = len(comparison.counters) - len(lines)
    return [*lines, *([f"and {more} more events"] if more > 0 else [])]
