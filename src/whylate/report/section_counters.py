"""What was counted of executions of a section, in words that the terminal and the page share."""

from __future__ import annotations

from whylate.quantities import format_count
from whylate.summary.model import SectionCounters, Summary
from whylate.text import plain


def counters_of(summary: Summary) -> SectionCounters | None:
    """Return what was counted of executions; None where nothing was."""
    return summary.section.counters if summary.section is not None else None


def counts_headline(counters: SectionCounters) -> str:
    """Say how many executions have counts, and why others have none."""
    kept = counters.own + counters.refused + counters.shared
    text = f"{format_count(counters.own)} of {format_count(kept)} executions have counts"
    parts = [
        f"{format_count(count)} {what}"
        for count, what in (
            (counters.shared, "moved to another CPU, and nobody saw when"),
            (counters.refused, "were not counted all the time"),
        )
        if count
    ]
    return f"{text}; {', '.join(parts)}" if parts else text


def counter_classes(counters: SectionCounters) -> str:
    """Return how many longer executions are of each class by counters, or why there are none."""
    if counters.classes is None:
        return f"no classes by counters: {plain(counters.no_classes or '', 300)}"
    if not any(counters.classes.values()):
        return "no classes by counters: no longer execution with counts is without a class by time"
    counts = (f"{name} {format_count(count)}" for name, count in counters.classes.items() if count)
    return f"longer executions without a class by time, by counters: {', '.join(counts)}"


def _without(counters: SectionCounters) -> str:
    """Return the medians without what an empty section has, where it has any."""
    hooks = counters.hooks or {}
    parts = [
        f"{plain(figures.name, 60)} {format_count(round(figures.median) - hooks[figures.name])}"
        for figures in counters.counters
        if hooks.get(figures.name)
    ]
    return f"; without it the medians are {', '.join(parts)}" if parts else ", not subtracted"


def counter_notes(counters: SectionCounters) -> list[str]:
    """Say what counts are of."""
    if not counters.counters:
        return []
    text = "Counts are without interrupts and other threads, as far as these were observed."
    if counters.hooks is None:
        text += " What the hooks count themselves is in each count, and is not subtracted."
    else:
        parts = (f"{plain(name, 60)} {format_count(n)}" for name, n in counters.hooks.items())
        text += (
            f" An empty section has {', '.join(parts)}: that is in each count{_without(counters)}."
        )
    notes = [text]
    drawn = counters.counters[0].n
    if drawn < counters.own:
        notes.append(
            f"Figures are of {format_count(drawn)} executions, drawn at random from "
            f"{format_count(counters.own)}."
        )
    return notes
