"""A recording that has trials as one HTML page without scripts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from whylate import __version__
from whylate.recording.manifest import Manifest
from whylate.report import chart, page
from whylate.report.html import asset, content_policy, template
from whylate.report.sweeps import Swept, sweep_charts
from whylate.report.trials import (
    counter_headings,
    fact_columns,
    figure_keys,
    measured_cell,
    network_lines,
    said,
    subject,
)
from whylate.report.whole import whole_file
from whylate.summary.trial_model import PointFigures, TrialsSummary
from whylate.text import plain

#: What the page of a workload is headed with.
_TITLES = {
    "switch": "What a switch to another task costs",
    "memory": "How fast memory is",
    "clock": "What reading a clock costs",
    "cmd": "How long a command takes",
}


def render_trials(summary: TrialsSummary, manifest: Manifest) -> str:
    """Return the page; whatever is shown is escaped, and it asks for nothing from anywhere."""
    from markupsafe import Markup

    style = asset("report.css") + "\n" + asset("comparison.css")
    changes, changes_left_out = page.change_rows(manifest.changes)
    text: str = template("trials.html.j2").render(
        policy=content_policy([], style),
        style=Markup(style),  # noqa: S704 (files of this package, no data)
        title=_TITLES[summary.workload],
        board=plain(summary.board, 80),
        subject=[plain(one, 120) for one in (summary.kernel, summary.cpu_model) if one],
        what=subject(summary),
        when=page.when(summary.created),
        recording=plain(summary.recording, 300),
        trust=summary.trust.verdict,
        reasons=[plain(one, 500) for one in summary.trust.reasons],
        warnings=[plain(one.text, 500) for one in summary.warnings],
        charts=sweep_charts([Swept("", summary.points)], summary.networks),
        box={"width": chart.WIDTH, "height": chart.HEIGHT, "left": chart.LEFT,
             "right": chart.RIGHT, "top": chart.TOP, "bottom": chart.BOTTOM},
        table=_table(summary),
        interval_note=summary.interval_note,
        said=[plain(one, 400) for one in said(summary)],
        findings=[plain(f"{one.text}.", 600) for one in summary.findings],
        networks=[plain(line, 400) for one in summary.networks for line in network_lines(one)],
        loads=page.load_rows(summary.loads),
        facts=page.facts_of(manifest.facts),
        settings=[(plain(s.path, 200), plain(s.value, 200)) for s in manifest.plan.settings],
        changes=changes,
        changes_left_out=changes_left_out,
        whylate=f"whylate {__version__}",
    )  # fmt: skip
    return text


def write_trials(path: Path, summary: TrialsSummary, manifest: Manifest) -> None:
    """Write the page whole or not at all; raises OSError."""
    text = render_trials(summary, manifest)
    with whole_file(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", errors="replace", newline="\n")


def _table(summary: TrialsSummary) -> dict[str, Any]:
    keys = figure_keys(summary)
    facts = fact_columns(summary)
    counters = counter_headings(summary)
    return {
        "figures": list(keys.values()),
        "facts": [heading for heading, _ in facts],
        "counters": [plain(heading, 40) for heading in counters.values()],
        "rows": [_row(one, list(keys), list(counters), summary) for one in summary.points],
    }


def _row(
    one: PointFigures, keys: list[str], counters: list[str], summary: TrialsSummary
) -> dict[str, Any]:
    return {
        "name": plain(one.name, 120),
        "refused": plain(one.refused or "", 400),
        "figures": [measured_cell(one.figures.get(key)) for key in keys],
        "facts": [plain(say(one), 80) for _, say in fact_columns(summary)],
        "counts": [measured_cell(one.counts.get(name)) for name in counters],
    }
