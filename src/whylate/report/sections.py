"""Why some executions of a section took longer, in words that the terminal and the page share."""

from __future__ import annotations

from dataclasses import dataclass

from whylate.quantities import format_count, format_percent, format_short_ns
from whylate.stats.executions.parts import REST
from whylate.summary.executions import SIDES_TAKE
from whylate.summary.model import (
    ExecutionClassFigures,
    LockFigures,
    LongerFigures,
    MainLock,
    Summary,
)
from whylate.text import plain

#: The headings of the table, in order.
COLUMNS = ("class", "located share", "95 % CI", "executions", "longest")


#: Those of the table of locks.
LOCK_COLUMNS = ("waits for", "waits", "total", "longest", "called from")


@dataclass(frozen=True)
class ClassRow:
    """A row of the table; share: for a bar, 0 to 1."""

    name: str
    share: float
    cells: tuple[str, ...]
    which: str


def longer_of(summary: Summary) -> LongerFigures | None:
    """Return why executions took longer, where there is anything to say."""
    return summary.section.longer if summary.section is not None else None


def longer_headline(longer: LongerFigures) -> str:
    """Say how many executions took longer than twice the median."""
    if not longer.count:
        return (
            f"No execution took longer than twice the median, {format_short_ns(longer.above_ns)}."
        )
    share = format_percent(longer.count / longer.of, 2)
    return (
        f"{format_count(longer.count)} of {format_count(longer.of)} executions ({share}) took "
        f"longer than twice the median, {format_short_ns(longer.above_ns)}; what they took beyond "
        f"the mean of the others: {format_short_ns(longer.excess_ns)}"
    )


def class_rows(longer: LongerFigures) -> list[ClassRow]:
    """Return a row for each class."""
    return [_row(each) for each in longer.classes]


def longer_notes(longer: LongerFigures) -> list[str]:
    """Say what the shares are, and what was not observed."""
    notes = []
    if longer.classes:
        notes.append(
            "Shares are of what longer executions took beyond the mean of the others. An execution "
            "is of the class that has half of its excess or more. Unexplained is time on the CPU "
            "that was in none of the classes."
        )
    if longer.own_code_lacks and any(each.name == REST for each in longer.classes):
        notes.append(_undivided(longer.own_code_lacks))
    if longer.classes and "interrupts" not in longer.not_observed:
        notes.append(
            "Interrupted is by hard interrupts and softirqs together. NMIs are not observed: what "
            "they take is in the part that they interrupt."
        )
    if longer.not_observed:
        what = ", ".join(plain(name, 40) for name in longer.not_observed)
        notes.append(f"Not observed on this board: {what}.")
    return notes


def _undivided(lacks: list[str]) -> str:
    """Say what keeps time of its own code from being divided into that of code and of data."""
    if lacks == [SIDES_TAKE["data stalls"]]:
        return f"Executions that wait for data are unexplained: {lacks[0]} are not counted."
    what = "neither cycles, nor instructions, nor stalls were counted"
    if len(lacks) < len(SIDES_TAKE):
        what = f"there is no counter of {' and of '.join(lacks)}"
    return (
        "Executions that wait for code and those that wait for data cannot be distinguished: "
        f"{what}."
    )


def _row(figures: ExecutionClassFigures) -> ClassRow:
    interval = "–"
    if figures.low is not None and figures.high is not None:
        interval = f"{format_percent(figures.low, 1)}–{format_percent(figures.high, 1)}"
    longest = "–" if figures.longest_ns is None else format_short_ns(figures.longest_ns)
    which = ""
    if figures.number is not None:
        which = (
            f"execution {format_count(figures.number)} that ended on CPU {figures.cpu}, in thread "
            f"{figures.pid}"
        )
    name = plain(figures.name, 60)
    if figures.waits is not None:
        name += f": {_main_lock(figures.waits)}"
    return ClassRow(
        name,
        figures.share,
        (format_percent(figures.share, 1), interval, format_count(figures.count), longest),
        which,
    )


def _main_lock(waits: MainLock) -> str:
    """Say which lock most waits are for, and where from: L at S."""
    where = plain(waits.callers[0], 80) if waits.callers else ""
    return f"{_lock_name(waits)} at {where}" if where else _lock_name(waits)


def lock_rows(summary: Summary, most: int, callers: int) -> list[tuple[str, ...]]:
    """Return a row for each of the groups of waits for locks with the longest totals.

    most: rows, and callers: in each.
    """
    locks = summary.section.locks if summary.section is not None else []
    return [
        (
            _lock_name(lock),
            format_count(lock.count),
            format_short_ns(lock.total_ns),
            format_short_ns(lock.longest_ns),
            " ← ".join(plain(name, 80) for name in lock.callers[:callers]) or "all others",
        )
        for lock in locks[:most]
    ]


def locks_note(summary: Summary, most: int) -> str:
    """Say what the table of locks is, and what is left out."""
    locks = summary.section.locks if summary.section is not None else []
    left = len(locks) - most
    text = (
        "Waits of threads while they were in the section, and no others. Locks whose waits have no "
        "tracepoint are not seen."
    )
    if left <= 0:
        return text
    groups = "1 group more is" if left == 1 else f"{format_count(left)} groups more are"
    return f"{text} {groups} in the output of --json."


def _lock_name(lock: LockFigures | MainLock) -> str:
    if lock.lock is None:
        return f"{lock.kind} (several)" if lock.kind else "several"
    return f"{lock.kind} {plain(lock.lock, 80)}".strip()
