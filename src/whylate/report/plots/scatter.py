"""Scattergrams of executions: cycles, else durations, against each counter, by class, with a line.

The line has the 95 % interval of its mean around it. A dot says which execution it is, and leads to
its row, where the page has one; each execution that has a row there has a dot.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from whylate.quantities import format_count, format_general, format_number
from whylate.report.executions import line_text, name_text
from whylate.report.plots.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Chart,
    Dot,
    Line,
    Scale,
    across,
    ticks,
    upwards,
)
from whylate.stats.arrays import Floats, Int64s
from whylate.stats.executions.line import mean_interval
from whylate.summary.executions import Counted, FittedLine, row_text

#: The colour of each class that any execution is of, in turn, and of executions without one.
_COLOURS = ("arm0", "arm1", "arm2", "arm3", "arm4", "arm5", "arm6", "arm7")
_NO_CLASS = "arm0"
#: Places in a chart between which the interval of a line is drawn.
_BAND = 41
#: Executions that have a dot each; of more there is one for each square that has any.
MOST_DOTS = 2000
_SQUARE = 8.0
#: Numbers from here on are written with a power of ten.
_LONG = 1e7


@dataclass(frozen=True)
class Scattergram:
    """A chart, and what its colours mean."""

    chart: Chart
    keys: list[tuple[str, str]]


def row_id(row: int) -> str:
    """Return the id on a page of an execution's row."""
    return f"execution-{row}"


def scattergrams(
    counted: Counted, fits: Sequence[FittedLine], linked: Collection[int] = ()
) -> list[Scattergram]:
    """Return a chart for each fit, refused or not; none where there are no cycles and no duration.

    linked: executions that have a row on the page, with the id row_id(). However many executions
    there are, a chart has at most as many dots as squares and classes, and as are linked.
    """
    return [_scattergram(counted, fit, frozenset(linked)) for fit in fits]


@dataclass(frozen=True)
class _Kinds:
    """The class of each execution, int64, shape (n,), and their names; none: no class is known."""

    of_row: Int64s
    names: Sequence[str]

    @property
    def colours(self) -> dict[int, str]:
        """Return the colour of each class that any execution is of."""
        used = np.unique(self.of_row).tolist() if self.names else []
        return {kind: _COLOURS[at % len(_COLOURS)] for at, kind in enumerate(used)}


def _kinds(counted: Counted) -> _Kinds:
    if counted.kinds is not None:
        return _Kinds(counted.kinds.astype(np.int64), counted.kind_names)
    if counted.classes is not None:
        return _Kinds(counted.classes.astype(np.int64), counted.class_names)
    return _Kinds(np.zeros(counted.n, np.int64), ())


def _scattergram(counted: Counted, fit: FittedLine, linked: frozenset[int]) -> Scattergram:
    x_values, y_values = counted.values[fit.x], counted.values[fit.y]
    x, y = across(*_ends(x_values)), upwards(*_ends(y_values))
    kinds = _kinds(counted)
    dots = _dots(counted, fit, (x, y), kinds, linked)
    keys = [(colour, kinds.names[kind]) for kind, colour in kinds.colours.items()]
    caption = f"{name_text(fit.y)} by {name_text(fit.x)}"
    line = _line(fit, x, y)
    band = _band(x_values, y_values, x, y) if line is not None else None
    chart = Chart(
        caption,
        ticks(x, _label),
        ticks(y, _label, 5),
        [each for each in (band, line) if each is not None],
        dots,
    )
    return Scattergram(chart, keys)


def _label(value: float) -> str:
    # As wide as the room beside the chart.
    return format_number(value) if abs(value) < _LONG else format_general(value)


def _ends(values: Floats) -> tuple[float, float]:
    """Return the ends of an axis: a little beyond the values, and apart."""
    low, high = float(values.min()), float(values.max())
    room = 0.05 * (high - low) or 0.05 * abs(high) or 1.0
    return low - room, high + room


def _dots(
    counted: Counted,
    fit: FittedLine,
    scales: tuple[Scale, Scale],
    kinds: _Kinds,
    linked: frozenset[int],
) -> list[Dot]:
    """Return a dot for each execution, or for each square and class the longest that it has."""
    x, y = scales
    x_values, y_values = counted.values[fit.x], counted.values[fit.y]
    n = counted.n
    rows, counts = np.arange(n), np.ones(n, np.int64)
    if n > MOST_DOTS:
        columns = _squares(x_values, x, (WIDTH - LEFT - RIGHT) / _SQUARE)
        lines = _squares(y_values, y, (HEIGHT - TOP - BOTTOM) / _SQUARE)
        square = (columns * HEIGHT + lines) * max(1, len(kinds.names)) + kinds.of_row
        longest_first = np.argsort(-y_values, kind="stable")
        squares, first, counts = np.unique(
            square[longest_first], return_index=True, return_counts=True
        )
        rows = longest_first[first]
        # Each that has a row on the page has a dot of its own, and is not in that of its square.
        apart = np.setdiff1d(np.array(sorted(linked), np.int64), rows)
        np.subtract.at(counts, np.searchsorted(squares, square[apart]), 1)
        rows = np.concatenate((rows, apart))
        counts = np.concatenate((counts, np.ones_like(apart)))
    dots, colours = [], kinds.colours
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        number = int(kinds.of_row[row])
        colour = colours.get(number, _NO_CLASS)
        name = f": {kinds.names[number]}" if kinds.names else ""
        what = row_text(counted, row)
        if count > 1:
            what = f"{format_count(count)} executions, the longest is {what}"
        title = (
            f"{what}{name}; {name_text(fit.y)} {format_general(float(y_values[row]), 15)}, "
            f"{name_text(fit.x)} {format_general(float(x_values[row]), 15)}"
        )
        link = row_id(row) if row in linked else ""
        dots.append(Dot(x(float(x_values[row])), y(float(y_values[row])), colour, title, link))
    # Those that lead to a row lie on top, where the mouse can get at them.
    return sorted(dots, key=lambda dot: bool(dot.link))


def _squares(values: Floats, scale: Scale, most: float) -> Int64s:
    part = (values - scale.low) / (scale.high - scale.low)
    return np.floor(part * int(most)).astype(np.int64)


def _band(x_values: Floats, y_values: Floats, x: Scale, y: Scale) -> Line | None:
    """Return the 95 % interval of a line's mean as an area; None: there is none."""
    at = np.linspace(x.low, x.high, _BAND)
    ends = mean_interval(x_values, y_values, at)
    if ends is None:
        return None
    low, high = ends
    there = [*zip(at.tolist(), low.tolist(), strict=True)]
    back = [*zip(at[::-1].tolist(), high[::-1].tolist(), strict=True)]
    points = " ".join(f"{x(place)},{y(value)}" for place, value in (*there, *back))
    return Line(points, "interval", "95 % interval of the mean")


def _line(fit: FittedLine, x: Scale, y: Scale) -> Line | None:
    """Return the part of a fitted line that lies in the chart; None: there is none."""
    if fit.slope is None or fit.intercept is None:
        return None
    ends = [x.low, x.high]
    if fit.slope:
        at = sorted((value - fit.intercept) / fit.slope for value in (y.low, y.high))
        ends = [max(x.low, at[0]), min(x.high, at[1])]
    if ends[0] >= ends[1]:
        return None
    points = " ".join(f"{x(at)},{y(fit.intercept + fit.slope * at)}" for at in ends)
    return Line(points, "model", line_text(fit))
