"""Why it was late, for the page: causes as one bar and a table, families, the worst drawn.

Nothing here is escaped for HTML: the template does that, for everything, by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whylate.causes.advice import Advice, load_advice
from whylate.causes.answer import Answer, TracedActivation
from whylate.causes.population import CauseShare, cause_key
from whylate.causes.window.piece import Cause
from whylate.quantities import format_count, format_ns
from whylate.report.page.activation import WHATS, Drawing, colour_of, drawing
from whylate.report.terminal.causes import (
    cause_name,
    families_said,
    headline,
    not_observable,
    notes,
    of_thread,
    percent,
    shown,
    told_of,
)
from whylate.text import plain

#: Units that a whole bar is wide.
WIDTH = 1000.0
#: Narrower than this, a part of a bar is not seen.
_NARROWEST = 0.5
#: Colours of the page; what is not known has its own.
_COLOURS = 8
_UNKNOWN = {Cause.UNEXPLAINED: "unexplained", Cause.NOT_OBSERVED: "unobserved"}


@dataclass(frozen=True)
class Part:
    """A part of a bar: where, of which colour, and what a reader is told who points at it."""

    x: float
    width: float
    colour: str
    title: str


@dataclass(frozen=True)
class CauseRow:
    """A line of the table of causes."""

    name: str
    colour: str
    called: bool
    share: str
    interval: str
    each: str
    in_late: str
    in_ordinary: str


@dataclass(frozen=True)
class FamilyRow:
    """A line of the table of families; what its members have in common, and the class of that."""

    letter: str
    common: str
    colour: str
    episodes: str
    at_least: str
    median: str
    in_ordinary: str
    worst: str


@dataclass(frozen=True)
class Why:
    """The section of the page; why_not: what stands there instead."""

    why_not: str
    headline: str = ""
    bar: tuple[Part, ...] = ()
    rows: tuple[CauseRow, ...] = ()
    notes: tuple[str, ...] = ()
    families: tuple[FamilyRow, ...] = ()
    unrecorded: str = ""
    stories: tuple[Drawing, ...] = ()
    whats: tuple[tuple[str, str], ...] = ()
    advice: tuple[tuple[str, Advice], ...] = ()


def why(answer: Answer) -> Why:
    """Return what the page says of an answer."""
    found = answer.population
    if found is None:
        return Why(plain(answer.why_not or "nothing was late", 500))
    rows = shown(found.causes)
    colours = _colours(rows)
    stories = tuple(_drawing(story, answer, colours) for story in answer.worst)
    unseen = filter(None, [not_observable(answer.observability)])
    return Why(
        "",
        headline(answer, found),
        tuple(_bar(found.causes, colours)),
        (*(_row(one, colours) for one in rows), *_others(found.causes, rows)),
        tuple(note.removeprefix("▶ ") for note in [*notes(found, answer.between), *unseen]),
        tuple(_families(answer, colours)),
        _unrecorded(answer),
        stories,
        tuple(_whats(stories)),
        tuple((cause.value, load_advice(cause)) for cause in told_of(found)),
    )


def _colours(rows: Sequence[CauseShare]) -> dict[tuple[Cause, str], str]:
    """Give each cause of the table a colour of its own, as far as there are any."""
    colours: dict[tuple[Cause, str], str] = {}
    for one in rows:
        if one.cause in _UNKNOWN:
            colours[one.cause, one.detail] = _UNKNOWN[one.cause]
        else:
            used = sum(colour.startswith("cause") for colour in colours.values())
            colours[one.cause, one.detail] = f"cause{used}" if used < _COLOURS else "rest"
    return colours


def _bar(rows: Sequence[CauseShare], colours: dict[tuple[Cause, str], str]) -> list[Part]:
    """Return the shares side by side, the rest together; negative ones are in the table alone."""
    parts = []
    x = 0.0
    named = [one for one in rows if (one.cause, one.detail) in colours]
    others = [one for one in rows if (one.cause, one.detail) not in colours]
    shares = [(one.share, colours[one.cause, one.detail], cause_name(one.cause, one.detail))
              for one in named]  # fmt: skip
    shares.append((sum(one.share for one in others), "rest", f"{len(others)} others"))
    whole = max(1.0, sum(max(share, 0) for share, _, _ in shares))
    for share, colour, name in shares:
        width = max(share, 0) / whole * WIDTH
        if width >= _NARROWEST:
            title = f"{name}: {share:.1%}"
            parts.append(Part(round(x, 1), round(width, 1), colour, title))
        x += width
    return parts


def _others(causes: Sequence[CauseShare], rows: Sequence[CauseShare]) -> list[CauseRow]:
    """Return a line for the causes that have none of their own, so that all of it is there."""
    others = [one for one in causes if one not in rows]
    if not others:
        return []
    share = percent(sum(one.share for one in others), 1)
    each = format_ns(round(sum(one.mean_ns for one in others)))
    return [CauseRow(f"{len(others)} others", "rest", False, share, "", each, "", "")]


def _row(one: CauseShare, colours: dict[tuple[Cause, str], str]) -> CauseRow:
    interval = ""
    if one.low is not None and one.high is not None:
        interval = f"{percent(one.low)} to {percent(one.high)}"
    return CauseRow(
        cause_name(one.cause, one.detail),
        colours[one.cause, one.detail],
        one.significant,
        percent(one.share, 1),
        interval,
        format_ns(round(one.mean_ns)),
        percent(one.in_late),
        percent(one.in_control),
    )


def _families(answer: Answer, colours: dict[tuple[Cause, str], str]) -> list[FamilyRow]:
    """Write the families; none where there is only one, which the table above tells as well."""
    found = answer.families
    if found is None or len(found.families) < 2:
        return []
    rows = []
    for one in found.families:
        common, colour = "no one thing", ""
        if one.cause is not None:
            common = cause_name(one.cause, one.detail if one.detail is not None else "of any name")
            known = _UNKNOWN.get(one.cause)
            colour = known or colours.get((one.cause, one.detail or ""), "rest")
        named = one.cause is not None
        rows.append(
            FamilyRow(
                one.letter or "other",
                common,
                colour,
                format_count(one.episodes),
                f"≥ {format_ns(one.at_least_ns, 2)}" if named else "",
                format_ns(one.median_ns) if named else "",
                f"{one.ordinary:,} of {found.control:,}" if named and found.control else "",
                format_ns(one.worst_ns),
            )
        )
    return rows


def _unrecorded(answer: Answer) -> str:
    found = answer.families
    if found is None or not found.unrecorded:
        return ""
    return f"Of {format_count(found.unrecorded)} late episodes nothing was recorded."


def _whats(stories: Iterable[Drawing]) -> list[tuple[str, str]]:
    """Return the colours of what ran that are in the drawings, and what they mean."""
    used = {block.colour for story in stories for block in story.blocks}
    return [(colour_of(what), name) for what, name in WHATS.items() if colour_of(what) in used]


def _drawing(
    story: TracedActivation, answer: Answer, colours: dict[tuple[Cause, str], str]
) -> Drawing:
    one = story.breakdown
    which = f"CPU {one.cpu}, activation {format_count(one.activation)}{of_thread(story)}"
    head = f"{which}: {format_ns(one.latency_ns)}"
    letter = answer.families.of.get((one.cpu, one.activation)) if answer.families else None
    if letter and families_said(answer):
        head += f", family {letter}"

    def colour(cause: Cause, detail: str) -> str:
        return _UNKNOWN.get(cause) or colours.get(cause_key(cause, detail), "rest")

    return drawing(story, head, colour)
