"""Scattergrams of executions: cycles against each counter, coloured by class, with their line."""

from __future__ import annotations

from collections.abc import Sequence
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
from whylate.summary.executions import Counted, FittedLine, row_text

#: The colour of each class, and of executions without one.
_COLOURS = ("arm0", "arm1", "arm2", "arm3")
_NO_CLASS = "arm0"
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


def scattergrams(counted: Counted, fits: Sequence[FittedLine]) -> list[Scattergram]:
    """Return a chart for each fit, refused or not; none where there are no cycles and no duration.

    However many executions there are, a chart has at most as many dots as squares and classes.
    """
    return [_scattergram(counted, fit) for fit in fits]


def _scattergram(counted: Counted, fit: FittedLine) -> Scattergram:
    x_values, y_values = counted.values[fit.x], counted.values[fit.y]
    x, y = across(*_ends(x_values)), upwards(*_ends(y_values))
    dots = _dots(counted, fit, x, y)
    used = sorted({dot.colour for dot in dots})
    keys = []
    if counted.classes is not None:
        keys = [
            (colour, str(name))
            for colour, name in zip(_COLOURS, counted.class_names, strict=False)
            if colour in used
        ]
    caption = f"{name_text(fit.y)} by {name_text(fit.x)}"
    line = _line(fit, x, y)
    chart = Chart(
        caption,
        ticks(x, _label),
        ticks(y, _label, 5),
        [] if line is None else [line],
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


def _dots(counted: Counted, fit: FittedLine, x: Scale, y: Scale) -> list[Dot]:
    """Return a dot for each execution, or for each square and class that has any."""
    x_values, y_values = counted.values[fit.x], counted.values[fit.y]
    n = counted.n
    classes = np.zeros(n, np.int64) if counted.classes is None else counted.classes.astype(np.int64)
    rows, counts = np.arange(n), np.ones(n, np.int64)
    if n > MOST_DOTS:
        columns = _squares(x_values, x, (WIDTH - LEFT - RIGHT) / _SQUARE)
        lines = _squares(y_values, y, (HEIGHT - TOP - BOTTOM) / _SQUARE)
        square = (columns * HEIGHT + lines) * len(counted.class_names) + classes
        _, rows, counts = np.unique(square, return_index=True, return_counts=True)
    dots = []
    for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
        number = int(classes[row])
        colour = _NO_CLASS if counted.classes is None else _COLOURS[number]
        name = "" if counted.classes is None else f": {counted.class_names[number]}"
        what = f"{format_count(count)} executions" if count > 1 else row_text(counted, row)
        title = (
            f"{what}{name}; {name_text(fit.y)} {format_general(float(y_values[row]), 15)}, "
            f"{name_text(fit.x)} {format_general(float(x_values[row]), 15)}"
        )
        dots.append(Dot(x(float(x_values[row])), y(float(y_values[row])), colour, title))
    return dots


def _squares(values: Floats, scale: Scale, most: float) -> Int64s:
    part = (values - scale.low) / (scale.high - scale.low)
    return np.floor(part * int(most)).astype(np.int64)


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
