"""The page's section "Why it was late": causes as a bar and a table, families, drawings.

Nothing here is escaped for HTML: the template escapes everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whylate.causes.advice import Advice, load_advice
from whylate.causes.answer import Answer
from whylate.causes.population import cause_key
from whylate.causes.window.piece import Cause
from whylate.quantities import format_percent
from whylate.report.causes import (
    CauseRow,
    FamilyRow,
    Key,
    activation_title,
    cause_rows,
    family_rows,
    headline,
    late_unit,
    no_answer,
    notes,
    significant_causes,
    unrecorded_text,
)
from whylate.report.page.activation import WHATS, Drawing, colour_of, drawing

#: Units that a whole bar is wide.
WIDTH = 1000.0
#: A narrower part of a bar is not visible.
_NARROWEST = 0.5
#: Colours of the page; what is not known has its own.
_COLOURS = 8
_UNKNOWN = {Cause.UNEXPLAINED: "unexplained", Cause.NOT_OBSERVED: "unobserved"}


@dataclass(frozen=True)
class Part:
    """A part of a bar: its place, the class of its colour, and its tooltip."""

    x: float
    width: float
    colour: str
    title: str


@dataclass(frozen=True)
class Why:
    """The section; why_not: what stands there instead. Rows come with the class of a colour."""

    why_not: str
    headline: str = ""
    bar: Sequence[Part] = ()
    rows: Sequence[tuple[CauseRow, str]] = ()
    notes: Sequence[str] = ()
    families: Sequence[tuple[FamilyRow, str]] = ()
    unrecorded: str = ""
    drawings: Sequence[Drawing] = ()
    legend: Sequence[tuple[str, str]] = ()
    advice: Sequence[tuple[str, Advice]] = ()
    title: str = ""
    counted: str = ""
    grouped: str = ""


def why(answer: Answer) -> Why:
    """Return the section of an answer."""
    title = "What ran during late executions" if answer.is_of_executions else "Why it was late"
    population = answer.population
    if population is None:
        return Why(no_answer(answer), title=title)
    rows = cause_rows(population)
    colours = _colours(rows)

    def colour(cause: Cause, detail: str) -> str:
        return _UNKNOWN.get(cause) or colours.get(cause_key(cause, detail), "rest")

    drawings = [
        drawing(traced, activation_title(traced, answer), colour) for traced in answer.worst
    ]
    coloured = [(row, colours.get(row.key, "rest") if row.key else "rest") for row in rows]
    return Why(
        "",
        headline(answer, population),
        bar([(row.name, row.share, colour) for row, colour in coloured]),
        coloured,
        [note.removeprefix("▶ ") for note in notes(answer, population)],
        [(row, colour(*row.key) if row.key else "") for row in family_rows(answer)],
        unrecorded_text(answer),
        drawings,
        _legend(drawings),
        [(cause.value, load_advice(cause)) for cause in significant_causes(population)],
        title,
        answer.counted,
        f"{late_unit(answer)}s",
    )


def _colours(rows: Iterable[CauseRow]) -> dict[Key, str]:
    """Give each cause of the table a colour, as far as there are any."""
    colours: dict[Key, str] = {}
    used = 0
    for row in rows:
        if row.key is None:
            continue
        colours[row.key] = _UNKNOWN.get(row.key[0]) or (
            f"cause{used}" if used < _COLOURS else "rest"
        )
        used += row.key[0] not in _UNKNOWN
    return colours


def bar(shares: Sequence[tuple[str, float, str]]) -> list[Part]:
    """Return shares side by side; negative shares are in the table alone.

    shares: of each its name, itself, and the class of its colour.
    """
    parts = []
    x = 0.0
    whole = max(1.0, sum(max(share, 0) for _, share, _ in shares))
    for name, share, colour in shares:
        width = max(share, 0) / whole * WIDTH
        if width >= _NARROWEST:
            title = f"{name}: {format_percent(share, 1)}"
            parts.append(Part(round(x, 1), round(width, 1), colour, title))
        x += width
    return parts


def _legend(drawings: Iterable[Drawing]) -> list[tuple[str, str]]:
    """Return the colours of what ran that the drawings use, and their meaning."""
    used = {block.colour for drawn in drawings for block in drawn.blocks}
    return [(colour_of(what), name) for what, name in WHATS.items() if colour_of(what) in used]
