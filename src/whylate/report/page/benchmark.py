"""A recording of a benchmark as one HTML page without scripts."""

from __future__ import annotations

from pathlib import Path

from whylate import __version__
from whylate.recording.manifest import Manifest
from whylate.report.page import rows as page
from whylate.report.page.off import off_tables
from whylate.report.page.render import render_page, write
from whylate.report.plots.sweeps import Side, sweep_charts
from whylate.report.terminal.benchmark import subject, table_columns
from whylate.summary.benchmarks.model import BenchmarkSummary
from whylate.text import plain


def render_benchmark(summary: BenchmarkSummary, manifest: Manifest) -> str:
    """Return the page; whatever is shown is escaped, and it asks for nothing from anywhere."""
    return render_page(
        "benchmark.html.j2",
        ("report.css", "comparison.css"),
        title=summary.title,
        board=plain(summary.board, 80),
        subject=[plain(part, 120) for part in (summary.kernel, summary.cpu_model) if part],
        what=subject(summary),
        when=page.when(summary.created),
        recording=plain(summary.recording, 300),
        trust=summary.trust.verdict,
        reasons=[plain(reason, 500) for reason in summary.trust.reasons],
        warnings=[plain(warning.text, 500) for warning in summary.warnings],
        charts=sweep_charts([Side("", summary.points)], summary.curves),
        columns=table_columns(summary),
        rows=[(plain(p.name, 120), plain(p.refused or "", 400)) for p in summary.points],
        interval_note=summary.interval_note,
        notes=[plain(note, 400) for note in summary.notes],
        findings=[plain(f"{finding.text}.", 600) for finding in summary.findings],
        models=[plain(line, 400) for line in summary.models],
        off=off_tables(summary.off) if summary.off is not None else None,
        loads=page.load_rows(summary.loads),
        **page.board_rows(manifest),
        whylate=f"whylate {__version__}",
    )


def write_benchmark(path: Path, summary: BenchmarkSummary, manifest: Manifest) -> None:
    """Write the page whole or not at all; raises OSError."""
    write(path, render_benchmark(summary, manifest))
