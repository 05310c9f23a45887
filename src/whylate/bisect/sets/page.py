"""The page of a bisection: the answer, every run, and what was in force in each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from whylate import __version__
from whylate.bisect.sets.history import chosen_items
from whylate.bisect.sets.model import MadeRun, Sets
from whylate.bisect.sets.words import lines_of
from whylate.compare.runs import Arm, Run
from whylate.compare.words import amount_text
from whylate.report.page import rows
from whylate.report.page.render import render_page, write_or_say
from whylate.report.plots.arms import colour, run_by_run
from whylate.stats.arrays import Bools
from whylate.stats.comparison.run_statistics import exact_value
from whylate.stats.search.model import Answer, Culprits, ExplainsPart, Purpose
from whylate.text import plain

PAGE = "report.html"
#: Settings that have a column in the table of runs.
_COLUMNS = 60


def write_page(directory: Path, sets: Sets, runs: Sequence[MadeRun], answer: Answer | None) -> Path:
    """Write the page into the bisection's directory and return it; raises DiskError."""
    culprits = _culprits(sets, answer)
    others = [place for place in range(len(sets.items)) if place not in culprits]
    columns = [*culprits, *others][:_COLUMNS]
    in_force = {made.number: chosen_items(sets, made.in_force) for made in runs}
    arms = _arms(sets, runs, culprits, in_force)
    unit = next((made.unit for made in runs if made.value is not None), "ns")
    text = render_page(
        "bisect.html.j2",
        ("report.css", "comparison.css", "bisect.css"),
        title=plain(f"Bisection {directory.name}", 120),
        when=rows.when(max((made.started for made in runs), default="")),
        lines=[plain(line, 400) for line in lines_of(sets, runs, answer)],
        arms=[{"colour": colour(number), "text": plain(arm.name, 120)}
              for number, arm in enumerate(arms)],
        chart=run_by_run(arms, sets.plan.statistic, unit),
        first=plain(sets.plan.first.name, 40),
        second=plain(sets.plan.second.name, 40),
        setting=sets.nouns.singular,
        settings=sets.nouns.plural,
        items=[_item(sets, number, place, place in culprits)
               for number, place in enumerate(columns, 1)],
        left_out=len(sets.items) - len(columns),
        runs=[_row(made, in_force[made.number][columns]) for made in runs],
        whylate=f"whylate {__version__}",
    )  # fmt: skip
    path = directory / PAGE
    write_or_say(path, text)
    return path


def _culprits(sets: Sets, answer: Answer | None) -> list[int]:
    if not isinstance(answer, Culprits | ExplainsPart):
        return []
    return [effect.item for effect in answer.effects if effect.item < len(sets.items)]


def _arms(
    sets: Sets,
    runs: Sequence[MadeRun],
    culprits: Sequence[int],
    in_force: Mapping[int, Bools],
) -> list[Arm]:
    """Return runs by what they are: of the variants, and of hybrids by the culprits in force."""
    sorts: dict[str, list[Run]] = {sets.plan.first.name: [], sets.plan.second.name: []}
    for made in runs:
        if made.value is None:
            continue
        if made.purpose == Purpose.END:
            name = sets.plan.second.name if made.base == "second" else sets.plan.first.name
        elif not culprits:
            name = "hybrids"
        else:
            count = int(in_force[made.number][list(culprits)].sum())
            with_all = "with" if count == len(culprits) else "without all of"
            some = with_all if count else "without"
            name = f"hybrids {some} {sets.plan.second.name}'s value of what makes the difference"
        run = Run(
            name=f"run {made.number}",
            values={sets.plan.statistic: exact_value(made.value)},
            made=made.started,
        )
        sorts.setdefault(name, []).append(run)
    return [Arm(name, tuple(runs)) for name, runs in sorts.items()]


def _item(sets: Sets, number: int, place: int, is_culprit: bool) -> dict[str, Any]:
    item, absent = sets.items[place], sets.nouns.absent
    return {
        "number": number,
        "knob": plain(item.name, 200),
        "first": absent if item.first is None else plain(item.first, 80),
        "second": absent if item.second is None else plain(item.second, 80),
        "culprit": is_culprit,
    }


def _row(made: MadeRun, in_force: Bools) -> dict[str, Any]:
    return {
        "number": made.number,
        "board": plain(made.board, 60),
        "purpose": made.purpose,
        "value": "untestable"
        if made.value is None
        else amount_text(math.exp(made.value), made.unit),
        "why": plain(made.untestable, 300),
        "cells": in_force.tolist(),
    }
