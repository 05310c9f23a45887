"""Print why some executions of a section took longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.report.executions import duration_text
from whylate.report.section_arms import (
    ARM_COLUMNS,
    arm_rows,
    experiment_headline,
    experiment_lines,
    experiment_notes,
)
from whylate.report.section_counters import counter_classes, counter_notes, counts_headline
from whylate.report.section_kept import kept_columns, kept_lines, kept_rows
from whylate.report.section_paths import (
    PATH_COLUMNS,
    SAMPLE_COLUMNS,
    path_rows,
    paths_headline,
    paths_notes,
    samples_headline,
)
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
from whylate.summary.arms import ExperimentFigures
from whylate.summary.model import (
    KeptFigures,
    LongerFigures,
    PathsFigures,
    SectionCounters,
    SectionFigures,
    Summary,
)

#: Rows of the table of locks, and callers in each.
_MOST_LOCKS, _CALLERS = 6, 3
#: The same of the table of call paths.
_MOST_PATHS, _PATH_CALLERS = 6, 4
#: Rows of the table of the longest executions.
_MOST_LONGEST = 5


def print_section(summary: Summary, section: SectionFigures, console: Console) -> None:
    """Print why executions took longer, their waits for locks, call paths and counters."""
    if section.duration is not None and (text := duration_text(section.duration)):
        console.print(Text(text))
        console.print()
    if section.experiment is not None:
        _print_experiment(section.experiment, console)
        console.print()
    if section.longer is not None:
        _print_longer(section.longer, console)
        console.print()
    if section.kept is not None:
        _print_kept(section.kept, console)
        console.print()
    _print_locks(summary, console)
    if section.paths is not None:
        _print_paths(section.paths, paths_headline(section.paths), PATH_COLUMNS, console)
        console.print()
    if section.samples is not None:
        _print_paths(section.samples, samples_headline(section.samples), SAMPLE_COLUMNS, console)
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


def _print_experiment(experiment: ExperimentFigures, console: Console) -> None:
    """Print treated executions against those of the placebo."""
    console.print(Text(experiment_headline(experiment)))
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ARM_COLUMNS:
        table.add_column(heading, justify="left" if heading == ARM_COLUMNS[0] else "right")
    for row in arm_rows(experiment):
        table.add_row(*map(Text, row))
    console.print(table)
    for line in experiment_lines(experiment):
        console.print(Text(line))
    for note in experiment_notes(experiment):
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


def _print_paths(
    paths: PathsFigures, headline: str, columns: Sequence[str], console: Console
) -> None:
    """Print where longer executions were called from, or seen."""
    console.print(Text(headline))
    rows = path_rows(paths, _MOST_PATHS, _PATH_CALLERS)
    if rows:
        table = Table(box=None, padding=(0, 2, 0, 0))
        for heading in columns:
            side: Literal["left", "right"] = "left" if heading == columns[-1] else "right"
            table.add_column(heading, justify=side, overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))
        console.print(table)
    for note in paths_notes(paths, _MOST_PATHS):
        console.print(Text(note, style="dim"))


def _print_kept(kept: KeptFigures, console: Console) -> None:
    """Print the longest executions."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    for heading in kept_columns(kept):
        table.add_column(heading, justify="right")
    for row in kept_rows(kept, _MOST_LONGEST):
        table.add_row(*map(Text, row))
    if kept.longest:
        console.print(table)
    for line in kept_lines(kept):
        console.print(Text(line, style="dim"))
