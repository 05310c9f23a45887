"""Sentences and cells of executions with counters, for terminal and page alike."""

from __future__ import annotations

from collections.abc import Sequence

from whylate.quantities import (
    format_count,
    format_estimate,
    format_general,
    format_number,
    format_percent,
    format_short_ns,
)
from whylate.recording.imported.executions.headings import heading_unit
from whylate.stats.executions.peak import NEAR
from whylate.summary.executions import (
    CounterFigures,
    ExecutionsSummary,
    FittedLine,
    ListedExecution,
)
from whylate.text import plain

#: So much of a name is shown.
_NAME = 60
COLUMNS = ("smallest", "median", "mean", "largest", "most frequent", "largest / most frequent")


def name_text(name: str, unit: str = "") -> str:
    """Return the name of a column, with its unit where the heading has none."""
    shown = plain(name, _NAME)
    return f"{shown}, {plain(unit, 20)}" if unit and not heading_unit(name) else shown


def account_text(summary: ExecutionsSummary) -> str:
    """Say how many executions there are, and between which marks they were counted."""
    noun = "execution" if summary.executions == 1 else "executions"
    text = f"{format_count(summary.executions)} {noun}"
    if summary.marks is None:
        return text
    text += f" = {format_count(summary.rows)} marks in pairs"
    if summary.marks.first and summary.marks.second:
        text += f", {plain(summary.marks.first, 200)} to {plain(summary.marks.second, 200)}"
    return text


def classes_text(summary: ExecutionsSummary) -> str:
    """Return how many executions are of each class, or why there are no classes."""
    if summary.classes is None:
        return f"no classes: {plain(summary.no_classes or '', 300)}"
    counts = (f"{name} {format_count(count)}" for name, count in summary.classes.items() if count)
    return f"class: {', '.join(counts)}"


def figure_cells(figures: CounterFigures) -> list[str]:
    """Return the cells of a counter, by COLUMNS; "–" where a figure was refused."""
    values = (figures.smallest, figures.median, figures.mean, figures.largest)
    frequent, ratio = figures.most_frequent, figures.largest_ratio
    return [
        *map(format_number, values),
        "–" if frequent is None else format_number(frequent),
        "–" if ratio is None else f"{format_number(ratio, 3)}×",
    ]


def ratio_reasons(counters: Sequence[CounterFigures]) -> list[str]:
    """Say why a counter has no most frequent value; a reason that all share appears once."""
    reasons: dict[str, list[str]] = {}
    for figures in counters:
        if figures.no_ratio is not None:
            reasons.setdefault(figures.no_ratio, []).append(name_text(figures.name))
    return [
        f"– {reason}" if len(names) == len(counters) else f"– {', '.join(names)}: {reason}"
        for reason, names in reasons.items()
    ]


def peak_lines(counters: Sequence[CounterFigures]) -> list[str]:
    """Say of each counter how many executions are near its most frequent value."""
    return [f"{name_text(each.name)}: {peak_text(each)}" for each in counters if peak_text(each)]


def peak_text(figures: CounterFigures) -> str:
    """Say how many executions are near the most frequent value; "" where there is none.

    "99.7 % of executions have 2,709 to 2,994, within 5 % of the most frequent value, 2,851 (95 % CI
    2,835 to 2,918)".
    """
    frequent, near = figures.most_frequent, figures.near
    low, high = figures.frequent_low, figures.frequent_high
    ends = figures.near_low, figures.near_high
    if not frequent or near is None or low is None or high is None or None in ends:
        return ""

    def write(value: float | None) -> str:
        return format_short_ns(round(value or 0)) if is_time else format_number(value or 0)

    is_time = figures.unit == "ns"
    return (
        f"{format_percent(near, 1)} of executions have {write(ends[0])} to "
        f"{write(ends[1])}, within {format_percent(NEAR)} of the most frequent "
        f"value, {write(frequent)} (95 % CI {write(low)} to {write(high)})"
    )


def duration_text(figures: CounterFigures) -> str:
    """Say how many executions are near the most frequent duration; "" where there is none."""
    text = peak_text(figures).replace("most frequent value", "most frequent duration")
    if not text or figures.largest_ratio is None:
        return ""
    return f"{text}; the longest took {format_number(figures.largest_ratio, 3)} times as long."


def longest(summary: ExecutionsSummary, most: int) -> list[ListedExecution]:
    """Return the longest executions, in the order of the file; at most so many."""
    listed = summary.listed
    if len(listed) > most and summary.fits:
        longest_first = sorted(listed, key=lambda execution: -execution.values[summary.fits[0].y])
        listed = sorted(longest_first[:most], key=lambda execution: execution.number)
    return listed[:most]


def more_text(summary: ExecutionsSummary, shown: int) -> str:
    """Say how many executions are not among those that are shown; "": all are."""
    more = summary.executions - shown
    if not more:
        return ""
    noun = "execution" if more == 1 else "executions"
    kind = "shorter" if summary.fits else "more"
    return f"and {format_count(more)} {kind} {noun}"


def line_text(fit: FittedLine) -> str:
    """Write a line: "cycles = 8505 + 1.019 · stalls"; refused: "cycles by stalls: no line, …"."""
    y, x = plain(fit.y, _NAME), plain(fit.x, _NAME)
    if fit.slope is None or fit.intercept is None:
        return f"{y} by {x}: no line, for {plain(fit.refused or '', 200)}"
    sign = "−" if fit.slope < 0 else "+"
    return f"{y} = {_coefficient(fit.intercept)} {sign} {_coefficient(abs(fit.slope))} · {x}"


def line_figures(fit: FittedLine) -> str:
    """Write the interval of a slope and the correlation of a line; "" where there is none."""
    if fit.slope is None or fit.r is None:
        return ""
    _, interval = format_estimate(fit.slope, fit.low, fit.high)
    return f"slope 95 % CI {interval}, r = {format_general(fit.r, 3)}, n = {format_count(fit.n)}"


def _coefficient(value: float) -> str:
    """Write a number without marked thousands, as in a formula."""
    return format_number(value).replace(",", "")
