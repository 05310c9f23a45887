"""The page of a bisection: the answer, every run, and what was in force in each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whylate import __version__
from whylate.bisect.settings.model import BisectPlan, Item, MadeRun
from whylate.bisect.settings.words import lines_of
from whylate.compare.runs import Arm, Run
from whylate.compare.words import amount_text
from whylate.recording.errors import DiskError
from whylate.report.page import rows
from whylate.report.page.render import render_page, write
from whylate.report.plots.arms import colour, run_by_run
from whylate.stats.comparison.run_statistics import exact_value
from whylate.stats.search.model import Answer, Culprits, ExplainsPart, Purpose
from whylate.text import plain

PAGE = "report.html"
#: Settings that have a column in the table of runs.
_COLUMNS = 60


def write_page(
    directory: Path, plan: BisectPlan, runs: Sequence[MadeRun], answer: Answer | None
) -> Path:
    """Write the page into the bisection's directory and return it; raises DiskError."""
    culprits = _culprits(plan, answer)
    others = [item for item in plan.items if item not in culprits]
    columns = [*culprits, *others][:_COLUMNS]
    arms = _arms(plan, runs, culprits)
    unit = next((made.unit for made in runs if made.value is not None), "ns")
    text = render_page(
        "bisect.html.j2",
        ("report.css", "comparison.css", "bisect.css"),
        title=plain(f"Bisection {directory.name}", 120),
        when=rows.when(max((made.started for made in runs), default="")),
        lines=[plain(line, 400) for line in lines_of(plan, runs, answer)],
        arms=[{"colour": colour(number), "text": plain(arm.name, 120)}
              for number, arm in enumerate(arms)],
        chart=run_by_run(arms, plan.statistic, unit),
        first=plain(plan.first.name, 40),
        second=plain(plan.second.name, 40),
        items=[_item(number, item, item in culprits) for number, item in enumerate(columns, 1)],
        left_out=len(plan.items) - len(columns),
        runs=[_make_run(made, columns) for made in runs],
        whylate=f"whylate {__version__}",
    )  # fmt: skip
    path = directory / PAGE
    try:
        write(path, text)
    except OSError as error:
        raise DiskError(f"{path} cannot be written: {error.strerror}") from None
    return path


def _culprits(plan: BisectPlan, answer: Answer | None) -> list[Item]:
    if not isinstance(answer, Culprits | ExplainsPart):
        return []
    return [plan.items[effect.item] for effect in answer.effects if effect.item < len(plan.items)]


def _arms(plan: BisectPlan, runs: Sequence[MadeRun], culprits: Sequence[Item]) -> list[Arm]:
    """Return runs by what they are: of the variants, and of hybrids by the culprits in force."""
    knobs = {item.knob for item in culprits}
    sorts: dict[str, list[Run]] = {plan.first.name: [], plan.second.name: []}
    for made in runs:
        if made.value is None:
            continue
        if made.purpose == Purpose.END:
            name = plan.second.name if made.base == "second" else plan.first.name
        elif not knobs:
            name = "hybrids"
        else:
            count = len(knobs.intersection(made.in_force))
            of = f"{plan.second.name}'s value of what makes the difference"
            name = f"hybrids with {of}" if count == len(knobs) else f"hybrids without all of {of}"
            name = f"hybrids without {of}" if not count else name
        run = Run(
            name=f"run {made.number}",
            values={plan.statistic: exact_value(made.value)},
            made=made.started,
        )
        sorts.setdefault(name, []).append(run)
    return [Arm(name, tuple(runs)) for name, runs in sorts.items()]


def _item(number: int, item: Item, is_culprit: bool) -> dict[str, Any]:
    return {
        "number": number,
        "knob": plain(item.knob, 200),
        "first": "as found" if item.first is None else plain(item.first, 80),
        "second": "as found" if item.second is None else plain(item.second, 80),
        "culprit": is_culprit,
    }


def _make_run(made: MadeRun, columns: Sequence[Item]) -> dict[str, Any]:
    in_force = frozenset(made.in_force)
    return {
        "number": made.number,
        "board": plain(made.board, 60),
        "purpose": made.purpose,
        "value": "untestable"
        if made.value is None
        else amount_text(math.exp(made.value), made.unit),
        "why": plain(made.untestable, 300),
        "cells": [item.knob in in_force for item in columns],
    }
