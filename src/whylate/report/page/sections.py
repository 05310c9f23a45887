"""The page's section "Why some executions took longer": classes as a bar and a table.

Nothing here is escaped for HTML: the template escapes everything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from whylate.quantities import format_count, format_number
from whylate.report.executions import COLUMNS as FIGURES
from whylate.report.executions import (
    figure_cells,
    line_figures,
    line_text,
    name_text,
    peak_lines,
    ratio_reasons,
)
from whylate.report.page.causes import Part, bar
from whylate.report.plots.peaks import overlaid_peaks
from whylate.report.plots.scatter import Scattergram, row_id, scattergrams
from whylate.report.section_arms import (
    ARM_COLUMNS,
    arm_rows,
    experiment_headline,
    experiment_lines,
    experiment_notes,
    experiment_of,
)
from whylate.report.section_counters import (
    counter_classes,
    counter_notes,
    counters_of,
    counts_headline,
)
from whylate.report.section_kept import kept_columns, kept_lines, kept_rows
from whylate.report.section_paths import (
    PATH_COLUMNS,
    SAMPLE_COLUMNS,
    path_rows,
    paths_headline,
    paths_notes,
    paths_of,
    samples_headline,
    samples_of,
)
from whylate.report.sections import (
    COLUMNS,
    LOCK_COLUMNS,
    ClassRow,
    class_rows,
    lock_rows,
    locks_note,
    longer_headline,
    longer_notes,
    longer_of,
)
from whylate.stats.executions.parts import REST
from whylate.summary.executions import Counted
from whylate.summary.model import PathsFigures, Summary
from whylate.text import plain

#: The headline where there is no median.
_TOO_FEW = "Too few executions have a row to say which took longer."

#: Rows of the table of locks, and callers in each.
_MOST_LOCKS, _CALLERS = 40, 8
#: The same of the table of call paths.
_MOST_PATHS, _PATH_CALLERS = 40, 24
#: Rows of the table of the longest executions.
_MOST_LONGEST = 20
#: Executions that are listed.
_MOST_LISTED = 20


@dataclass(frozen=True)
class ListedRow:
    """An execution; ident: its id on the page."""

    ident: str
    name: str
    cells: Sequence[str]


@dataclass(frozen=True)
class CountersSection:
    """What was counted of executions; lines: of each chart its line and the figures of that."""

    headline: str
    classes: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, list[str]]]
    lines: Sequence[tuple[str, str]]
    charts: Sequence[Scattergram]
    peaks: Scattergram | None
    notes: Sequence[str]
    listed: Sequence[ListedRow]
    listed_columns: Sequence[str]
    listed_caption: str


@dataclass(frozen=True)
class SmallTable:
    """A table of longer executions with what is said of it."""

    headline: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, ...]]
    notes: Sequence[str]


@dataclass(frozen=True)
class LongerSection:
    """The section. Rows come with the class of a colour."""

    headline: str
    columns: Sequence[str]
    bar: Sequence[Part]
    rows: Sequence[tuple[ClassRow, str]]
    notes: Sequence[str]
    locks: Sequence[tuple[str, ...]]
    lock_columns: Sequence[str]
    locks_note: str
    paths: SmallTable | None
    samples: SmallTable | None
    kept: SmallTable | None
    experiment: SmallTable | None


def counted_executions(summary: Summary, counted: Counted | None) -> CountersSection | None:
    """Return the section of counters; None of a recording without."""
    counters = counters_of(summary)
    if counters is None:
        return None
    longest = [] if counted is None else _longest(counted)
    return CountersSection(
        counts_headline(counters),
        counter_classes(counters),
        FIGURES,
        [(name_text(row.name), figure_cells(row)) for row in counters.counters],
        [(line_text(fit), line_figures(fit)) for fit in counters.fits],
        [] if counted is None else scattergrams(counted, counters.fits, longest),
        None if counted is None else overlaid_peaks(counted),
        [
            *peak_lines(counters.counters),
            *ratio_reasons(counters.counters),
            *counter_notes(counters),
        ],
        [] if counted is None else [_listed(counted, row) for row in longest],
        [] if counted is None else ["CPU", "began", "thread", *counted.values, "class"],
        f"The {len(longest)} longest executions with counts",
    )


def _longest(counted: Counted) -> list[int]:
    durations = counted.values[counted.columns[0].name]
    rows: list[int] = np.argsort(-durations, kind="stable")[:_MOST_LISTED].tolist()
    return rows


def _listed(counted: Counted, row: int) -> ListedRow:
    cpus, numbers, began_ns = counted.cpus, counted.numbers, counted.began_ns
    pids, kinds = counted.pids, counted.kinds
    if cpus is None or numbers is None or began_ns is None or pids is None or kinds is None:
        raise ValueError("executions of a section have a place, a time and a class")
    return ListedRow(
        row_id(row),
        format_count(int(numbers[row])),
        [
            str(cpus[row]),
            f"{format_number(began_ns[row] / 1e9, 7)} s",
            str(pids[row]),
            *(format_number(float(column[row]), 15) for column in counted.values.values()),
            plain(counted.kind_names[int(kinds[row])], 40),
        ],
    )


def longer_executions(summary: Summary) -> LongerSection | None:
    """Return the section; None where there is nothing to say, as of another workload."""
    longer = longer_of(summary)
    locks = lock_rows(summary, _MOST_LOCKS, _CALLERS)
    paths = _paths_table(paths_of(summary), paths_headline, PATH_COLUMNS)
    samples = _paths_table(samples_of(summary), samples_headline, SAMPLE_COLUMNS)
    kept = _kept_table(summary)
    experiment = _experiment_table(summary)
    if longer is None and not locks and (paths or samples or kept or experiment) is None:
        return None
    rows = class_rows(longer) if longer is not None else []
    colours = ["unexplained" if row.name == REST else f"cause{i}" for i, row in enumerate(rows)]
    coloured = list(zip(rows, colours, strict=True))
    return LongerSection(
        longer_headline(longer) if longer is not None else _TOO_FEW,
        COLUMNS,
        bar([(row.name, row.share, colour) for row, colour in coloured]),
        coloured,
        longer_notes(longer) if longer is not None else [],
        locks,
        LOCK_COLUMNS,
        locks_note(summary, _MOST_LOCKS),
        paths,
        samples,
        kept,
        experiment,
    )


def _paths_table(
    paths: PathsFigures | None, headline: Callable[[PathsFigures], str], columns: Sequence[str]
) -> SmallTable | None:
    if paths is None:
        return None
    rows = path_rows(paths, _MOST_PATHS, _PATH_CALLERS)
    return SmallTable(headline(paths), columns, rows, paths_notes(paths, _MOST_PATHS))


def _experiment_table(summary: Summary) -> SmallTable | None:
    experiment = experiment_of(summary)
    if experiment is None:
        return None
    return SmallTable(
        experiment_headline(experiment),
        ARM_COLUMNS,
        arm_rows(experiment),
        [*experiment_lines(experiment), *experiment_notes(experiment)],
    )


def _kept_table(summary: Summary) -> SmallTable | None:
    kept = summary.section.kept if summary.section is not None else None
    if kept is None:
        return None
    return SmallTable("", kept_columns(kept), kept_rows(kept, _MOST_LONGEST), kept_lines(kept))
