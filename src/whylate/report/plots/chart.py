"""Small charts as SVG: points in a box of fixed size, with ticks; the template draws them.

Nothing here is escaped: the template does that, for everything, by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from whylate.quantities import format_general

Floats = NDArray[np.float64]

#: The box, in units of its own, and what is left of it for the axes' labels.
WIDTH, HEIGHT = 1000, 250
LEFT, RIGHT, TOP, BOTTOM = 100, 16, 12, 34
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1, "ns"))


@dataclass(frozen=True)
class Tick:
    """A line across the box at `at`, and what stands beside it."""

    at: float
    label: str


@dataclass(frozen=True)
class Line:
    """A line through points ("x,y x,y"), and the class of its colour."""

    points: str
    colour: str
    title: str


@dataclass(frozen=True)
class Dot:
    """A point; link: the id of what it stands for on the page, of characters a-z, 0-9 and -."""

    x: float
    y: float
    colour: str
    title: str
    link: str = ""


@dataclass(frozen=True)
class Chart:
    """A chart. caption: what it shows, for who does not see it too."""

    caption: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    lines: list[Line] = field(default_factory=list)
    dots: list[Dot] = field(default_factory=list)


@dataclass(frozen=True)
class Scale:
    """From values to places in the box; both ends differ."""

    low: float
    high: float
    begin: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value, a tenth of a unit fine; beyond the ends at the end."""
        value = min(max(value, self.low), self.high)
        part = self._part(value)
        return round(self.begin + part * (self.end - self.begin), 1)

    def _part(self, value: float) -> float:
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def across(
    low: float, high: float, *, log: bool = False, left: float = LEFT, right: float = RIGHT
) -> Scale:
    """Return the scale of the x axis; left, right: the room beside it."""
    return Scale(low, high, left, WIDTH - right, log)


def upwards(low: float, high: float, *, log: bool = False) -> Scale:
    """Return the scale of the y axis."""
    return Scale(low, high, HEIGHT - BOTTOM, TOP, log)


def ticks(scale: Scale, label: Callable[[float], str], most: int = 8) -> list[Tick]:
    """Return ticks at round values."""
    values = _decades(scale, most) if scale.log else _steps(scale.low, scale.high, most)
    return [Tick(scale(value), label(value)) for value in values]


def apart(values: Sequence[float], scale: Scale, room: float) -> list[float]:
    """Return the values, the first ones first, whose labels have room beside those before."""
    kept: list[float] = []
    for value in values:
        if all(abs(scale(value) - scale(other)) > room for other in kept):
            kept.append(value)
    return kept


def _decades(scale: Scale, most: int) -> list[float]:
    first, last = math.ceil(math.log10(scale.low) - 1e-9), math.floor(math.log10(scale.high) + 1e-9)
    decades = [10.0**power for power in range(first, last + 1)]
    if len(decades) >= 3:
        return decades[:: -(-len(decades) // most)]
    fine = [
        digit * 10.0**power for power in range(first - 1, last + 1) for digit in (1, 2, 3, 5, 7)
    ]
    return [value for value in fine if scale.low <= value <= scale.high]


def _steps(low: float, high: float, most: int) -> list[float]:
    step = round_step((high - low) / most)
    return [step * n for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def round_step(least: float) -> float:
    """Return the first of 1, 2, 5, 10, ... that is not below `least`, which is above zero."""
    size = 10.0 ** math.floor(math.log10(least))
    return next(size * digit for digit in (1, 2, 5, 10) if size * digit >= least)


def time_label(ns: float) -> str:
    """Write a round time: "20 µs"."""
    size, unit = next(((s, u) for s, u in _UNITS if abs(ns) >= s), _UNITS[-1])
    return f"{format_general(ns / size)} {unit}"


def steps_of(edges: Floats, heights: Floats, x: Scale, y: Scale, colour: str, title: str) -> Line:
    """Return a histogram's outline; heights: of the bins between the edges."""
    points = []
    values = zip(edges[:-1].tolist(), edges[1:].tolist(), heights.tolist(), strict=True)
    for low, high, height in values:
        if high < x.low or low > x.high:
            continue
        top = y(height) if height > 0 else y(y.low)
        points += [f"{x(low)},{top}", f"{x(high)},{top}"]
    return Line(" ".join(points), colour, title)
