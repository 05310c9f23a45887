"""The report as one HTML file that needs no network and trusts nothing it shows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whylate.causes.answer import Answer
from whylate.quantities import format_count, format_percent
from whylate.recording.manifest import Manifest
from whylate.recording.samples import Activations
from whylate.report import sentences
from whylate.report.executions import duration_text
from whylate.report.page import activation as drawing
from whylate.report.page import rows as page
from whylate.report.page.causes import WIDTH, why
from whylate.report.page.render import render_page, write
from whylate.report.page.sections import counted_executions, longer_executions
from whylate.report.plots.payload import plot_data
from whylate.report.waits import COLUMNS, NOTE, left_out, wait_rows
from whylate.summary.executions import Counted
from whylate.summary.model import Summary
from whylate.text import plain

#: Rows of the table of waits.
_MOST_WAITS = 64


def _has_why(answer: Answer, manifest: Manifest) -> bool:
    """Whether the page says why: of executions only where windows of them were asked for."""
    return not answer.is_of_executions or manifest.recorder is not None


def render_html(
    summary: Summary,
    manifest: Manifest,
    samples: Sequence[Activations],
    answer: Answer | None = None,
    counted: Counted | None = None,
) -> str:
    """Render the report: plots, causes, figures, facts, everything in one string of HTML.

    counted: executions of a section with counts.

    The data stands in a block that is parsed as JSON and never run. Samples are binned first: the
    size does not grow with the run.
    """
    from markupsafe import Markup

    data = plot_data(samples, summary, manifest.probe.clock_resolution_ns or 1)
    own = (["comparison.css"], ["linked.js"]) if counted is not None else ([], [])
    return render_page(
        "report.html.j2",
        ("uPlot.min.css", "report.css", *own[0]),
        ("uPlot.iife.min.js", "plots.js", "report.js", *own[1]),
        data=Markup(_json_block(data)),  # noqa: S704 (escaped by _json_block)
        why=why(answer) if answer is not None and _has_why(answer, manifest) else None,
        longer=longer_executions(summary),
        counters=counted_executions(summary, counted),
        bar_width=WIDTH,
        percent=format_percent,
        head=drawing.HEAD,
        axis=drawing.AXIS,
        block_height=drawing.BLOCK,
        **_words(summary, manifest),
    )


def write_report(
    path: Path,
    summary: Summary,
    manifest: Manifest,
    samples: Sequence[Activations],
    answer: Answer | None = None,
    counted: Counted | None = None,
) -> Path:
    """Write the report to the file `path`, whole or not at all, and return it. Raises OSError."""
    write(path, render_html(summary, manifest, samples, answer, counted))
    return path


def _words(summary: Summary, manifest: Manifest) -> dict[str, Any]:
    together = page.row_of(summary.together, overruns=summary.scheduled)
    table = page.figures_table(summary)
    return {
        "title": f"{plain(summary.board, 80)} · {plain(summary.workload, 40)} {summary.quantity}",
        "quantity": summary.quantity,
        "counted": summary.counted,
        "worst": summary.worst,
        "section": _section_lines(summary),
        "board": plain(summary.board, 80),
        "subject": [plain(t, 120) for t in (summary.kernel, summary.cpu_model) if t],
        "workload": page.unbroken(sentences.workload(summary)),
        "causes": [sentences.injected_fault(cause) for cause in summary.causes],
        "virtual_time": sentences.virtual_time(summary) if summary.virtual_time else "",
        "recording": plain(summary.recording, 300),
        "when": page.when(summary.created),
        "state": plain(summary.state, 40),
        "trust": summary.trust.verdict,
        "reasons": [plain(r, 500) for r in summary.trust.reasons],
        "together": together,
        "cells": {c.name: c for c in together.cells},
        "worst_cpu": page.worst_cpu(summary),
        "expected": format_count(summary.together.expected),
        "accounting_noun": sentences.accounting_noun(summary),
        "accounting_sum": sentences.accounting_sum(summary),
        "scheduled": summary.scheduled,
        "stages": list(summary.together.stages),
        "stages_attached": sentences.attached_text(summary),
        "stage_rows": page.stage_rows([summary.together]),
        "stage_cpu_rows": page.stage_rows(summary.per_cpu) if len(summary.per_cpu) > 1 else [],
        "table": table,
        "waits": wait_rows(summary.waits, _MOST_WAITS),
        "wait_columns": COLUMNS,
        "waits_note": NOTE,
        "waits_left_out": left_out(summary, _MOST_WAITS, "the output of --json"),
        "missing": page.missing_figures([together, *table.rows, *table.folded]),
        "interval_note": plain(summary.interval_note, 300),
        "not_seen": page.unbroken(sentences.unseen_bound(summary)),
        "behind_not_seen": sentences.unseen_bound_basis(summary),
        "requirements": [
            {
                "text": plain(r.text, 120),
                "verdict": r.verdict,
                "why": page.unbroken(plain(r.why, 500)),
            }
            for r in summary.requirements
        ],
        "warnings": [(plain(w.code, 40), plain(w.text, 500)) for w in summary.warnings],
        "crashes": page.crash_rows(summary.crashes),
        "loads": page.load_rows(summary.loads),
        **page.board_rows(manifest),
        "probe": [
            *page.probe_rows(manifest, summary.elapsed_ns),
            *page.observer_rows(summary.observer),
            *page.event_rows(summary.events),
        ],
        "threads": page.thread_rows(manifest) if summary.scheduled else [],
        "whylate": plain(manifest.whylate, 40),
    }


def _section_lines(summary: Summary) -> list[str]:
    duration = summary.section.duration if summary.section is not None else None
    text = duration_text(duration) if duration is not None else ""
    return [*sentences.section_lines(summary), *([text] if text else [])]


def _json_block(data: dict[str, Any]) -> str:
    r"""Serialise for a script block: ASCII only, and no character that could end the block.

    `<`, `>` and `&` can stand in JSON only within strings, where `\u003c` means the same.
    """
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
