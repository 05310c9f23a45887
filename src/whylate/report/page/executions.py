"""Executions with counters as one HTML page without scripts."""

from __future__ import annotations

from pathlib import Path

from whylate import __version__
from whylate.report.executions import (
    COLUMNS,
    account_text,
    classes_text,
    figure_cells,
    line_figures,
    line_text,
    longest,
    more_text,
    name_text,
    peak_lines,
    ratio_reasons,
)
from whylate.report.page.render import render_page, write
from whylate.report.plots.peaks import overlaid_peaks
from whylate.report.plots.scatter import row_id, scattergrams
from whylate.summary.executions import Counted, ExecutionsSummary
from whylate.text import plain

#: Executions of the table.
_MOST_ROWS = 200


def render_executions(summary: ExecutionsSummary, counted: Counted) -> str:
    """Return the page; whatever is shown is escaped, and it asks for nothing from anywhere."""
    about = summary.about
    listed = longest(summary, _MOST_ROWS)
    return render_page(
        "executions.html.j2",
        ("report.css", "comparison.css"),
        title="executions with counters",
        source=plain(about.source, 200),
        imported=f"imported {plain(about.imported, 40)}",
        subject=account_text(summary),
        classes=classes_text(summary),
        cautions=[plain(text, 400) for text in summary.cautions],
        lacks=[plain(text, 400) for text in about.lacks],
        columns=COLUMNS,
        rows=[(name_text(row.name, row.unit), figure_cells(row)) for row in summary.counters],
        reasons=[*peak_lines(summary.counters), *ratio_reasons(summary.counters)],
        lines=[(line_text(fit), line_figures(fit)) for fit in summary.fits],
        peaks=overlaid_peaks(counted),
        charts=scattergrams(counted, summary.fits, [each.number - 1 for each in listed]),
        names=[name_text(name) for name in listed[0].values] if listed else [],
        differences=summary.marks is not None,
        placed=any(execution.place is not None for execution in listed),
        listed=[
            (
                execution.number,
                plain(execution.place or "", 200),
                [f"{value:,.15g}" for value in execution.values.values()],
                execution.execution_class or "",
                row_id(execution.number - 1),
            )
            for execution in listed
        ],
        more=more_text(summary, len(listed)) if listed else "",
        recording=plain(summary.recording, 300),
        whylate=f"whylate {__version__}",
    )


def write_executions(path: Path, summary: ExecutionsSummary, counted: Counted) -> None:
    """Write the page whole or not at all; raises OSError."""
    write(path, render_executions(summary, counted))
