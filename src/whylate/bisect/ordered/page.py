"""The page of a bisection of an ordered history: the answer, where the step may be, every run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from whylate import __version__
from whylate.bisect.ordered.carry_out import Result, events_of
from whylate.bisect.ordered.model import Kind as StepKind
from whylate.bisect.ordered.model import OrderedPlan, Step
from whylate.bisect.ordered.pool import without_boards
from whylate.bisect.ordered.versions import Versions
from whylate.bisect.ordered.words import lines_of
from whylate.compare.words import amount_text
from whylate.report.page import rows
from whylate.report.page.render import render_page, write_or_say
from whylate.report.plots.along import PlottedRun, probabilities, values_along
from whylate.report.plots.arms import colour
from whylate.stats.arrays import Floats
from whylate.stats.ordered_search.events import Measured
from whylate.stats.ordered_search.posterior import change_prior, infer
from whylate.text import plain

PAGE = "report.html"
#: What runs of each kind are called beside the chart, where each has a colour.
_SORTS: dict[StepKind, str] = {
    "run": "runs of the search",
    "confirmation": "runs that confirm",
    "kept": "{last}, beside it without the culprit",
    "reverted": "{last} without the culprit",
}
#: Runs before the probabilities can be computed.
_ENOUGH = 3


def write_ordered_page(
    directory: Path, plan: OrderedPlan, versions: Versions, steps: Sequence[Step], result: Result
) -> Path:
    """Write the page into the bisection's directory and return it; raises DiskError."""
    nouns, names = versions.nouns, versions.names
    compared = without_boards(steps, (names[0], names[-1]))
    made = [step for step in compared if step.value is not None]
    failed = {versions.place(step.version): step.reason for step in steps
              if step.kind == "unbuildable"}  # fmt: skip
    probable = _probable(versions, compared)
    sorts = [kind for kind in _SORTS if any(step.kind == kind for step in made)]
    unit = next((step.unit for step in made), "ns")
    plotted = [_plotted(versions, step, sorts) for step in made]
    text = render_page(
        "ordered.html.j2",
        ("report.css", "comparison.css", "bisect.css"),
        title=plain(f"Bisection {directory.name}", 120),
        when=rows.when(max((step.started for step in steps), default="")),
        lines=[plain(line, 400) for line in lines_of(plan, versions, steps, result)],
        noun=nouns.singular,
        nouns=nouns.plural,
        count=len(names) - 1,
        probable=None if probable is None else probabilities(probable, failed, nouns.singular),
        chart=values_along(plotted, len(names), plan.statistic, unit, nouns.singular),
        sorts=[{"colour": colour(number), "text": _SORTS[kind].format(last=nouns.last)}
               for number, kind in enumerate(sorts)],
        versions=list(_versions(versions, made, probable, result)),
        failed=[_interval(versions, places, failed) for places in _intervals(failed)],
        has_boards=any(step.board for step in steps),
        runs=[_row(versions, step) for step in steps],
        whylate=f"whylate {__version__}",
    )  # fmt: skip
    path = directory / PAGE
    write_or_say(path, text)
    return path


def _probable(versions: Versions, steps: Sequence[Step]) -> Floats | None:
    """Return the probability of a step at each version; None: too little was run."""
    events = events_of(versions, steps)
    run = [event.version for event in events if isinstance(event, Measured)]
    ends = {0, len(versions.names) - 1}
    if len(run) < _ENOUGH or not ends <= set(run):
        return None
    if not change_prior(versions.history, events).any():
        return None
    return infer(versions.history, events).steps()


def _plotted(versions: Versions, step: Step, sorts: Sequence[StepKind]) -> PlottedRun:
    # "reverted" is of the last version, though its step names the culprit.
    last = len(versions.names) - 1
    place = last if step.kind == "reverted" else versions.place(step.version)
    return PlottedRun(
        place,
        math.exp(step.value or 0.0),
        sorts.index(step.kind),
        plain(f"run {step.number}, {versions.title(place)}", 120),
    )


def _versions(
    versions: Versions, made: Sequence[Step], probable: Floats | None, result: Result
) -> Iterator[dict[str, Any]]:
    """Yield the versions that were run, in their order, and those that the answer names."""
    values: dict[int, list[float]] = {}
    for step in made:
        if step.kind in ("run", "confirmation"):
            values.setdefault(versions.place(step.version), []).append(step.value or 0.0)
    answer = result.answer
    named = set() if answer is None else {*answer.versions, *answer.second_versions}
    unit = next((step.unit for step in made), "ns")
    for place in sorted({*values, *named}):
        of_version = values.get(place, [])
        yield {
            "place": place,
            "title": plain(versions.title(place), 120),
            "runs": len(of_version),
            "value": amount_text(math.exp(statistics.median_low(of_version)), unit)
            if of_version
            else "",
            "probability": "" if probable is None else f"{min(1.0, probable[place]):.3f}",
            "culprit": place in named,
        }


def _intervals(failed: Mapping[int, str]) -> Iterator[list[int]]:
    """Yield places that follow each other."""
    together: list[int] = []
    for place in sorted(failed):
        if together and place != together[-1] + 1:
            yield together
            together = []
        together.append(place)
    if together:
        yield together


def _interval(
    versions: Versions, places: Sequence[int], failed: Mapping[int, str]
) -> dict[str, str]:
    first, last = places[0], places[-1]
    return {
        "places": str(first) if first == last else f"{first} to {last}",
        "title": plain(versions.title(first), 120),
        "reason": plain(failed[first], 300),
    }


def _row(versions: Versions, step: Step) -> dict[str, Any]:
    place = versions.place(step.version)
    value = "" if step.value is None else amount_text(math.exp(step.value), step.unit)
    same = f"the same as {versions.short(versions.place(step.other))}" if step.other else ""
    return {
        "number": step.number,
        "board": plain(step.board, 60),
        "place": place,
        "title": plain(versions.short(place), 60),
        "kind": step.kind,
        "value": value,
        "note": same or plain(step.reason, 300),
    }
