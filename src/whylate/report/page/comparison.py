"""Comparisons as one HTML page without scripts: the verdict on top, and what it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from whylate import __version__
from whylate.compare.model import Comparison
from whylate.compare.runs import Arm
from whylate.report.beside import environment_line, event_lines, hit_lines
from whylate.report.page import rows as page
from whylate.report.page.render import render_page
from whylate.report.plots.arms import colour, overlaid, run_by_run
from whylate.report.plots.forest import Forest, of_comparison
from whylate.report.plots.sweeps import sides_of, sweep_charts
from whylate.report.terminal.comparison import arm_text, headline, many_text
from whylate.text import plain

#: Statistics of which every run is shown.
_RUN_BY_RUN = ("p50", "p99.9", "max")


@dataclass(frozen=True)
class EffectLine:
    """What a knob does, or several together: the name that the plots call it by, and its p."""

    name: str
    knobs: str
    p: str
    clear: bool


@dataclass(frozen=True)
class Effects:
    """What several knobs do: a line for each effect, and a plot of all for each statistic."""

    lines: Sequence[EffectLine]
    plots: Sequence[Forest]
    why_not: str | None = None


@dataclass(frozen=True)
class Group:
    """Sides that belong together, the first one that the others are compared with."""

    title: str
    arms: Sequence[Arm]
    comparisons: Sequence[Comparison]
    effects: Effects | None = None


def render(title: str, subject: Sequence[str], when: str, groups: Sequence[Group]) -> str:
    """Return the page; whatever is shown is escaped, and it asks for nothing from anywhere."""
    compared = sum(len(group.comparisons) for group in groups)
    notes = [many_text(compared)] if compared > 1 else []
    return render_page(
        "comparison.html.j2",
        ("report.css", "comparison.css"),
        title=plain(title, 120),
        subject=[plain(text, 200) for text in (*subject, *notes)],
        when=page.when(when),
        groups=[_group(group) for group in groups],
        whylate=f"whylate {__version__}",
    )


def _group(group: Group) -> dict[str, Any]:
    charts = overlaid(group.arms)
    sweeps = sweep_charts(sides_of(group.arms))
    dots = [run_by_run(group.arms, name, unit) for name, unit in _run_by_run(group.arms)]
    return {
        "title": plain(group.title, 160),
        "arms": [
            {"colour": colour(number), "text": plain(arm.name, 80)}
            for number, arm in enumerate(group.arms)
        ],
        "comparisons": [_comparison(comparison) for comparison in group.comparisons],
        "charts": [*charts, *filter(None, dots)],
        "sweeps": sweeps,
        "effects": None if group.effects is None else _effects(group.effects),
    }


def _run_by_run(arms: Sequence[Arm]) -> list[tuple[str, str]]:
    """Return the statistics of which every run is shown, with their units."""
    statistics = arms[0].runs[0].statistics if arms and arms[0].runs else ()
    names = {statistic.name: statistic.unit or "ns" for statistic in statistics}
    shown = [name for name in _RUN_BY_RUN if name in names] or list(names)[: len(_RUN_BY_RUN)]
    return [(name, names[name]) for name in shown]


def _effects(effects: Effects) -> dict[str, Any]:
    return {
        "lines": [
            {"name": plain(line.name, 30), "knobs": plain(line.knobs, 300), "p": line.p,
             "differs": line.clear}
            for line in effects.lines
        ],
        "plots": effects.plots,
        "why_not": plain(effects.why_not or "", 400),
    }  # fmt: skip


def _comparison(comparison: Comparison) -> dict[str, Any]:
    sides = f"A: {arm_text(comparison.first)}; B: {arm_text(comparison.second)}"
    return {
        "headline": headline(comparison),
        "style": comparison.verdict.replace(" ", "-"),
        "why": f"{plain(comparison.why, 600)}. {sides}.",
        "beside": [
            plain(text, 500)
            for text in (
                *hit_lines(comparison),
                *event_lines(comparison),
                environment_line(comparison) or "",
            )
            if text
        ],
        "cautions": [plain(text, 500) for text in comparison.cautions],
        "forest": of_comparison(comparison),
        "refused": [
            plain(row.refused, 300)
            for row in comparison.statistics
            if row.ratio is None and row.refused is not None
        ],
    }
