"""One late activation drawn: its pieces, and what ran on its CPU and on the one that woke it.

All is placed in parts of the width, so that it fits any page; heights are in pixels. Nothing here
is escaped for HTML: the template does that, for everything, by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from whylate.causes.answer import TracedActivation
from whylate.causes.window.piece import Cause, Piece
from whylate.causes.window.tracks import Span, SpanKind, Track, began_ns, cpus_of, cut_spans
from whylate.quantities import format_ns
from whylate.recording.events import Kind, Window
from whylate.report.causes import cause_name
from whylate.report.plots.chart import round_step
from whylate.text import plain

#: What is shown before it was due and after it ran, as a part of its latency.
BEFORE, AFTER = 0.16, 0.15
#: Heights of the marks' names, of a row with its gap, of what is in it, and of the axis.
HEAD, ROW, BLOCK, AXIS = 18, 24, 20, 20
#: CPUs beside the activation's own.
MOST_OTHERS = 2
#: Parts of the width: narrower blocks are drawn together, and names stand in wider ones alone.
_TOGETHER, _NAMED, _NAMED_ON_A_PHONE = 0.0015, 0.045, 0.2
#: Blocks of a row: a page stays a page, whatever a window holds.
MOST_BLOCKS = 250
#: Names that are shown for blocks that are drawn together.
_MOST_NAMES = 4

#: What a person calls what the rows hold.
WHATS = {
    SpanKind.MEASURED: "the measured thread",
    SpanKind.THREAD: "another thread",
    SpanKind.IDLE: "idle",
    SpanKind.SOFTIRQ: "softirq",
    SpanKind.INTERRUPT: "interrupt",
    SpanKind.NMI: "NMI",
    SpanKind.LOCK: "waiting for a lock",
    SpanKind.UNKNOWN: "not recorded",
}

#: From the cause and detail of a piece to the class of its colour.
Colour = Callable[[Cause, str], str]


@dataclass(frozen=True)
class Block:
    """A stretch of a row: x and width in parts of 100, y in pixels, the class of its colour.

    name: stands in it; fits: "" on every page, "roomy" on wide pages only, "none" on none.
    """

    x: float
    width: float
    y: int
    colour: str
    name: str
    fits: str
    title: str


@dataclass(frozen=True)
class Mark:
    """A line through all rows at a moment of the activation."""

    x: float
    name: str
    title: str
    #: Where the name stands, of those that have room for it: "end" left of the line, "start".
    side: str


@dataclass(frozen=True)
class Row:
    """A row's name; heading: of the rows below it, and nothing is in its own."""

    name: str
    heading: bool = False


@dataclass(frozen=True)
class Tick:
    """A label of the axis; minor: left out where there is little room."""

    x: float
    label: str
    minor: bool


@dataclass(frozen=True)
class Drawing:
    """All of it; height in pixels. moments: the marks in words, in their order."""

    head: str
    moments: tuple[str, ...]
    height: int
    rows: tuple[Row, ...]
    blocks: tuple[Block, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]


def colour_of(what: SpanKind) -> str:
    """Return the class of the colour of what a row holds."""
    return f"is-{what.value}"


class _Scale:
    """From times to parts of 100 of the width."""

    def __init__(self, window: Window) -> None:
        latency = max(window.latency_ns, 1)
        self.due_ns = window.due_ns
        self.latency_ns = latency
        self.start_ns = window.due_ns - round(BEFORE * latency)
        self.end_ns = window.run_ns + round(AFTER * latency)

    def x(self, at_ns: int) -> float:
        return round(100 * (at_ns - self.start_ns) / max(self.end_ns - self.start_ns, 1), 3)

    def part(self, length_ns: int) -> float:
        return length_ns / max(self.end_ns - self.start_ns, 1)


def drawing(traced: TracedActivation, head: str, colour: Colour) -> Drawing:
    """Draw a breakdown. head: its heading."""
    window = traced.window
    scale = _Scale(window)
    rows = [Row("pieces")]
    blocks = _blocks([_of_piece(piece, colour) for piece in _pieces(traced)], scale, HEAD)
    # An execution may be woken many times, on any CPU.
    waker = None if traced.is_execution else _waker(window)
    other_cpus = sorted(cpus_of(window)[1:], key=lambda cpu: (cpu != waker, cpu))[:MOST_OTHERS]
    for cpu in (window.cpu, *other_cpus):
        start = max(scale.start_ns, began_ns(window, cpu))
        cpu_spans = cut_spans(window, cpu, start, max(window.run_ns, start))
        woke = ", which woke it" if cpu == waker and cpu != window.cpu else ""
        rows.append(Row(f"CPU {cpu}{woke}", heading=True))
        for track in Track:
            own = [_of_span(span) for span in cpu_spans if span.track is track]
            if own:
                blocks += _blocks(own, scale, HEAD + ROW * len(rows))
                rows.append(Row(track.value))
    moments = _moments(traced)
    return Drawing(
        head,
        tuple(f"{name} {_offset(at - window.due_ns)}" for name, at in moments),
        HEAD + ROW * len(rows) + AXIS,
        tuple(rows),
        tuple(blocks),
        tuple(_mark(name, at, window, scale) for name, at in moments),
        tuple(_ticks(scale)),
    )


@dataclass(frozen=True)
class _Stretch:
    """What becomes a block: a time, a colour, and a name."""

    start_ns: int
    end_ns: int
    colour: str
    name: str


def _pieces(traced: TracedActivation) -> Sequence[Piece]:
    breakdown = traced.breakdown
    return breakdown.pieces or (
        Piece(breakdown.due_ns, breakdown.due_ns + breakdown.latency_ns, Cause.NOT_OBSERVED),
    )


def _of_piece(piece: Piece, colour: Colour) -> _Stretch:
    name = cause_name(piece.cause, piece.detail)
    return _Stretch(piece.start_ns, piece.end_ns, colour(piece.cause, piece.detail), name)


def _of_span(span: Span) -> _Stretch:
    name = plain(span.name, 80) if span.what is not SpanKind.UNKNOWN else "not recorded"
    return _Stretch(span.start_ns, span.end_ns, colour_of(span.what), name)


def _blocks(stretches: Sequence[_Stretch], scale: _Scale, y: int) -> list[Block]:
    """Place the stretches of a row; the shortest, side by side, are drawn as one."""
    shortest = _TOGETHER
    groups = _grouped(stretches, scale, shortest)
    while len(groups) > MOST_BLOCKS:
        shortest *= 2
        groups = _grouped(stretches, scale, shortest)
    return [_together(group, scale, y) for group in groups]


def _grouped(stretches: Iterable[_Stretch], scale: _Scale, shortest: float) -> list[list[_Stretch]]:
    """Put stretches shorter than a part of the width with their neighbours of that kind."""
    groups: list[list[_Stretch]] = []
    last_is_short = False
    for stretch in stretches:
        short = scale.part(stretch.end_ns - stretch.start_ns) < shortest
        if short and last_is_short and (
            scale.part(stretch.start_ns - groups[-1][-1].end_ns) <= shortest
        ):  # fmt: skip
            groups[-1].append(stretch)
        else:
            groups.append([stretch])
        last_is_short = short
    return groups


def _together(short: Sequence[_Stretch], scale: _Scale, y: int) -> Block:
    """Place stretches as one block, which counts them where they are several."""
    names = list(dict.fromkeys(stretch.name for stretch in short))
    listed = ", ".join(names[:_MOST_NAMES]) + (", …" if len(names) > _MOST_NAMES else "")
    what = f"{len(short)} short ones ({listed})" if len(short) > 1 else listed
    longest = max(short, key=lambda stretch: stretch.end_ns - stretch.start_ns)
    start_ns, end_ns = short[0].start_ns, short[-1].end_ns
    part = scale.part(end_ns - start_ns)
    fits = "none" if part < _NAMED else "roomy" if part < _NAMED_ON_A_PHONE else ""
    x = scale.x(start_ns)
    # What is too short to be seen is drawn as wide as can be.
    width = max(scale.x(end_ns) - x, 100 * _TOGETHER)
    title = f"{what}: {format_ns(end_ns - start_ns)}"
    return Block(x, round(width, 3), y, longest.colour, longest.name, fits, title)


def _moments(traced: TracedActivation) -> list[tuple[str, int]]:
    window = traced.window
    if traced.is_execution:
        return [("begins", window.due_ns), ("ends", window.run_ns)]
    named = [
        ("due", window.due_ns),
        ("interrupt", window.timer_ns),
        ("woken", window.waking_ns),
        ("switched in", window.switched_ns),
        ("ran", window.run_ns),
    ]
    return [(name, at) for name, at in named if at is not None]


def _mark(name: str, at_ns: int, window: Window, scale: _Scale) -> Mark:
    # A moment before the picture begins stands at its edge.
    x = max(scale.x(at_ns), 0.0)
    side = {"due": "end", "begins": "end", "ran": "start", "ends": "start"}.get(name, "")
    return Mark(x, name, f"{name}: {_offset(at_ns - window.due_ns)}", side)


def _offset(ns: int) -> str:
    return "0" if not ns else format_ns(ns) if ns < 0 else f"+{format_ns(ns)}"


def _waker(window: Window) -> int | None:
    """Return the CPU on which the thread was woken, as far as the window has it."""
    wakings = [event.cpu for event in window.events
               if event.kind is Kind.WAKING and event.id == window.pid
               and event.time_ns >= window.due_ns]  # fmt: skip
    return wakings[0] if wakings else None


def _ticks(scale: _Scale) -> list[Tick]:
    """Label the axis from when it was due, about six times, in steps of 1, 2 or 5."""
    step = max(1, round(round_step(scale.latency_ns / 5)))
    last = scale.latency_ns // step * step
    units = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
    size, unit = next((unit for unit in units if last >= unit[0]), units[-1])
    return [
        Tick(scale.x(scale.due_ns + at), f"{at / size:g} {unit}" if at else "0", index % 2 == 1)
        for index, at in enumerate(range(0, scale.latency_ns + 1, step))
    ]
