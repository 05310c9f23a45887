"""Several runs as one HTML page without scripts: what their shapes say on top, then all charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whylate import __version__
from whylate.compare.overlay import Overlaid, OverlayRun
from whylate.quantities import format_count
from whylate.report.overlay import (
    figure_text,
    findings,
    findings_note,
    peak_lines_of_runs,
    run_text,
    title,
)
from whylate.report.page import rows as page
from whylate.report.page.render import render_page, write
from whylate.report.plots.arms import colour
from whylate.report.plots.overlay import arms_of, distributions, time_lines
from whylate.report.plots.sweeps import sides_of, sweep_charts
from whylate.report.section_arms import RUN_COLUMNS, run_notes, run_rows
from whylate.report.sentences import QUANTILES
from whylate.text import plain

#: Rows of the table of points.
_MOST_POINTS = 400


def render_overlay(overlaid: Overlaid) -> str:
    """Return the page; whatever is shown is escaped, and it asks for nothing from anywhere."""
    overlay = overlaid.overlay
    rows = [page.row_of(summary.together, overruns=summary.scheduled)
            for summary in overlaid.summaries]  # fmt: skip
    return render_page(
        "overlay.html.j2",
        ("report.css", "comparison.css"),
        title=title(overlay),
        subject=list(dict.fromkeys(plain(run.subject, 200) for run in overlay.runs if run.subject)),
        findings=findings(overlay),
        note=findings_note(overlay),
        cautions=[plain(text, 400) for text in overlay.cautions],
        keys=[(colour(place), run_text(run)) for place, run in enumerate(overlay.runs)],
        counted=plain(overlay.counted, 40),
        runs=[_run(run) for run in overlay.runs],
        distrust=[
            (run.number, [plain(reason, 300) for reason in run.trust.reasons])
            for run in overlay.runs
            if run.trust.verdict != "ok"
        ],
        quantiles=QUANTILES,
        rows=[(run.number, row.cells) for run, row in zip(overlay.runs, rows, strict=False)],
        missing=[
            f"{run.number}: {text}"
            for run, row in zip(overlay.runs, rows, strict=False)
            for text in page.missing_figures([row])[:1]
        ],
        peaks=peak_lines_of_runs(overlay),
        experiment_columns=RUN_COLUMNS,
        experiments=run_rows(overlay.runs),
        experiment_notes=run_notes(overlay.runs),
        points=[
            (plain(point.name, 120), plain(point.unit, 20), list(map(figure_text, point.figures)))
            for point in overlay.points[:_MOST_POINTS]
        ],
        sweeps=sweep_charts(sides_of(arms_of(overlaid))) if overlay.points else [],
        charts=distributions(overlaid) if not overlay.points else [],
        times=time_lines(overlaid),
        whylate=f"whylate {__version__}",
    )


def write_overlay(path: Path, overlaid: Overlaid) -> None:
    """Write the page whole or not at all; raises OSError."""
    write(path, render_overlay(overlaid))


def _run(run: OverlayRun) -> dict[str, Any]:
    return {
        "number": run.number,
        "recording": plain(run.recording, 300),
        "board": plain(run.board, 80),
        "kernel": plain(run.kernel or "–", 80),
        "created": page.when(run.created),
        "count": format_count(run.count),
        "group": "–" if run.group is None else str(run.group),
    }
