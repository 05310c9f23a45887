"""Print several runs beside each other, and which have the same shape of distribution."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from whylate.compare.overlay import Overlay, OverlayRun
from whylate.quantities import format_count, format_interval_ns
from whylate.report.overlay import (
    figure_text,
    findings,
    findings_note,
    peak_lines_of_runs,
    run_text,
    title,
)
from whylate.report.section_arms import RUN_COLUMNS, run_notes, run_rows
from whylate.report.sentences import estimate_text
from whylate.report.terminal.lines import hanging, print_report_path
from whylate.text import plain

#: Percentiles beside each other.
_SHOWN = ("p50", "p90", "p99", "p99.9", "max")
#: Points of benchmarks that are printed; the page has all.
_MOST_POINTS = 40


def print_overlay(overlay: Overlay, console: Console, page: str) -> None:
    """Print runs; texts of boards are plain text, never markup. page: where it is."""
    first = overlay.runs[0]
    of = f" of {plain(first.subject, 200)}" if first.subject and not overlay.points else ""
    console.print(Text(f"{title(overlay)}{of}", style="bold"))
    for run in overlay.runs:
        parts = [plain(run.board, 60), *(plain(run.kernel, 60) for _ in (1,) if run.kernel)]
        console.print(Text(f"{run_text(run)}: {' · '.join(parts)}, {plain(run.created, 40)}"))
    console.print()
    console.print(_points(overlay) if overlay.points else _percentiles(overlay.runs))
    if len(overlay.points) > _MOST_POINTS:
        console.print(Text(f"{len(overlay.points) - _MOST_POINTS} more points are on the page",
                           style="dim"))  # fmt: skip
    console.print(Text("Intervals: 95 %, conditional on each run", style="dim"))
    console.print()
    _print_experiments(overlay.runs, console)
    for text in peak_lines_of_runs(overlay):
        console.print(Text(text))
    for text in findings(overlay):
        console.print(Text(text, style="bold"))
    note = findings_note(overlay)
    if note:
        console.print(Text(note, style="dim"))
    for run in overlay.runs:
        for reason in run.trust.reasons:
            console.print(hanging(f"no verdict on run {run.number}", plain(reason, 300), "red"))
    for text in overlay.cautions:
        console.print(hanging("warning", plain(text, 300), "yellow"))
    print_report_path(page, console)


def _print_experiments(runs: Sequence[OverlayRun], console: Console) -> None:
    """Print what treatments change in runs that are experiments; of others nothing."""
    rows = run_rows(runs)
    if not rows:
        return
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for heading in RUN_COLUMNS:
        table.add_column(heading, justify="right" if heading == "run" else "left", overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    console.print(table)
    for note in run_notes(runs):
        console.print(Text(note, style="dim"))
    console.print()


def _percentiles(runs: Sequence[OverlayRun]) -> Table:
    """Lay out the percentiles of each run, each with its interval below it."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("run", justify="right")
    table.add_column("group", justify="right")
    table.add_column("n", justify="right")
    for name in _SHOWN:
        table.add_column(name, justify="right", no_wrap=True)
    for run in runs:
        cells = [_cell(run, name) for name in _SHOWN]
        group = "–" if run.group is None else str(run.group)
        table.add_row(str(run.number), group, format_count(run.count), *cells)
    return table


def _cell(run: OverlayRun, name: str) -> Text:
    estimate = run.latency_ns.get(name)
    if estimate is None or estimate.value is None:
        return Text("–")
    interval = format_interval_ns(estimate.low, estimate.high, estimate.value)
    return Text.assemble(estimate_text(estimate), (f"\n{interval}" if interval else "", "dim"))


def _points(overlay: Overlay) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("", overflow="fold")
    for run in overlay.runs:
        table.add_column(str(run.number), justify="right")
    for point in overlay.points[:_MOST_POINTS]:
        name = plain(f"{point.name} ({point.unit})" if point.unit else point.name, 60)
        table.add_row(Text(name), *(Text(figure_text(figure)) for figure in point.figures))
    return table
