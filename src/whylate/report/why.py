"""Why it was late, for the page: causes as one bar and a table, the worst episodes as bars of time.

Nothing here is escaped for HTML: the template does that, for everything, by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whylate.causes.advice import Advice, advice
from whylate.causes.answer import Answer, Story
from whylate.causes.pieces import Cause, Piece
from whylate.causes.population import CauseShare
from whylate.report.causes import (
    cause_name,
    headline,
    not_told_apart,
    notes,
    of_thread,
    percent,
    shown,
    told_of,
)
from whylate.report.quantities import format_count, format_ns
from whylate.report.text import plain

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
class StoryBar:
    """One of the worst episodes as a bar from due to run."""

    head: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Why:
    """The section of the page; why_not: what stands there instead."""

    why_not: str
    headline: str = ""
    bar: tuple[Part, ...] = ()
    rows: tuple[CauseRow, ...] = ()
    notes: tuple[str, ...] = ()
    stories: tuple[StoryBar, ...] = ()
    advice: tuple[tuple[str, Advice], ...] = ()


def why(answer: Answer) -> Why:
    """Return what the page says of an answer."""
    found = answer.population
    if found is None:
        return Why(plain(answer.why_not or "nothing was late", 500))
    rows = shown(found.causes)
    colours = _colours(rows)
    return Why(
        "",
        headline(answer, found),
        tuple(_bar(rows, colours)),
        tuple(_row(one, colours) for one in rows),
        tuple(filter(None, [*notes(found), not_told_apart(answer.sights)])),
        tuple(_story(story, colours) for story in answer.worst),
        tuple((cause.value, advice(cause)) for cause in told_of(found)),
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
    """Return the shares side by side; negative ones, and the rest, are in the table alone."""
    parts = []
    x = 0.0
    whole = max(1.0, sum(max(one.share, 0) for one in rows))
    for one in rows:
        width = max(one.share, 0) / whole * WIDTH
        if width >= _NARROWEST:
            title = f"{cause_name(one.cause, one.detail)}: {one.share:.1%}"
            parts.append(Part(round(x, 1), round(width, 1), colours[one.cause, one.detail], title))
        x += width
    return parts


def _row(one: CauseShare, colours: dict[tuple[Cause, str], str]) -> CauseRow:
    interval = ""
    if one.low is not None and one.high is not None:
        interval = f"{percent(one.low)} to {percent(one.high)}"
    return CauseRow(
        cause_name(one.cause, one.detail),
        colours[one.cause, one.detail],
        one.called,
        percent(one.share, 1),
        interval,
        format_ns(round(one.mean_ns)),
        percent(one.in_tail),
        percent(one.in_body),
    )


def _story(story: Story, colours: dict[tuple[Cause, str], str]) -> StoryBar:
    one = story.accounted
    which = f"CPU {one.cpu}, activation {format_count(one.activation)}{of_thread(story)}"
    head = f"{which}: {format_ns(one.latency_ns)}"
    pieces = one.pieces or (Piece(one.due_ns, one.due_ns + one.latency_ns, Cause.NOT_OBSERVED),)
    scale = WIDTH / max(one.latency_ns, 1)
    parts = []
    for piece in pieces:
        width = piece.length_ns * scale
        if width < _NARROWEST:
            continue
        detail = "" if piece.cause in _UNKNOWN else piece.detail
        colour = _UNKNOWN.get(piece.cause) or colours.get((piece.cause, detail), "rest")
        title = f"{cause_name(piece.cause, piece.detail)}: {format_ns(piece.length_ns)}"
        x = (piece.start_ns - one.due_ns) * scale
        parts.append(Part(round(x, 1), round(width, 1), colour, title))
    return StoryBar(head, tuple(parts))
