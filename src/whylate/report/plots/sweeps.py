"""Charts of what was swept: a line through the points of each series, of one run or of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from whylate.compare.runs import Arm
from whylate.quantities import format_estimate, format_general
from whylate.report.plots.arms import colour
from whylate.report.plots.chart import (
    Chart,
    Dot,
    Line,
    Scale,
    Tick,
    across,
    apart,
    ticks,
    upwards,
)
from whylate.summary.benchmarks.model import (
    BenchmarkSummary,
    Curve,
    Measured,
    PointFigures,
    setting_names,
)
from whylate.text import plain

#: Series of one chart, as many as have distinct colours, and charts of one figure.
MOST_SERIES, MOST_CHARTS = 16, 12
#: Room that the label of a place takes.
_LABEL = 60


@dataclass(frozen=True)
class Side:
    """Points of one side. name: "" where there is one side."""

    name: str
    points: Sequence[PointFigures]


@dataclass(frozen=True)
class SweepChart:
    """A chart and what its colours mean."""

    chart: Chart
    keys: list[tuple[str, str]]


@dataclass(frozen=True)
class _Series:
    """side: its number. setting: what distinguishes it from others of that side."""

    side: int
    setting: str
    name: str
    points: list[PointFigures]


def sweep_charts(sides: Sequence[Side], curves: Sequence[Curve] = ()) -> list[SweepChart]:
    """Return a chart for each figure that was swept; none where nothing was."""
    points = [point for side in sides for point in side.points]
    places = [point.place for point in points if point.place is not None]
    if len({place.value for place in places}) < 2:
        return []
    charts = []
    for caption in dict.fromkeys(caption for point in points for caption in point.plots):
        series = _series(sides, caption)
        own = [curve for curve in curves if curve.caption == caption]
        charts += _charts(caption, places[0].label, series, own)
    return charts


def _charts(
    caption: str, label: str, series: Sequence[_Series], curves: Sequence[Curve]
) -> list[SweepChart]:
    """Return one chart of all series, or as many as it takes to distinguish them.

    Of several sides each of these has one setting, so that sides are laid over each other.
    """
    title = f"{caption}, by {label}"
    if len(series) <= MOST_SERIES:
        return [_chart(title, caption, series, curves)]
    if len({member.side for member in series}) > 1:
        settings = dict.fromkeys(member.setting for member in series)
        groups = [
            [member for member in series if member.setting == setting] for setting in settings
        ]
        titles = [f"{title} ({setting})" if setting else title for setting in settings]
    else:
        groups = [list(series[at : at + MOST_SERIES]) for at in range(0, len(series), MOST_SERIES)]
        titles = [f"{title} ({at} of {len(groups)})" for at in range(1, len(groups) + 1)]
    shown = [group[:MOST_SERIES] for group in groups[:MOST_CHARTS]]
    left_out = len(series) - sum(map(len, shown))
    if left_out:
        last = len(shown) - 1
        titles[last] += f"; {left_out} more series are not drawn"
    return [
        _chart(plain(title, 300), caption, group, curves)
        for title, group in zip(titles, shown, strict=False)
    ]


def sides_of(arms: Sequence[Arm]) -> list[Side]:
    """Return the sides of a comparison: of each point the medians over its runs."""
    return [
        Side(plain(arm.name, 60), points)
        for arm in arms
        if (points := _medians([run.benchmark for run in arm.runs if run.benchmark is not None]))
    ]


def _medians(runs: Sequence[BenchmarkSummary]) -> list[PointFigures]:
    by_name: dict[str, list[PointFigures]] = {}
    for run in runs:
        for point in run.points:
            if not point.refused:
                by_name.setdefault(point.name, []).append(point)
    medians = []
    for points in by_name.values():
        plots = {
            caption: Measured(float(np.median([point.plots[caption].value for point in points])))
            for caption in points[0].plots
            if all(caption in point.plots for point in points)
        }
        medians.append(msgspec.structs.replace(points[0], plots=plots))
    return medians


def _series(sides: Sequence[Side], caption: str) -> list[_Series]:
    """Return a series for each setting of all that is not swept, of each side."""
    series: dict[tuple[int, str], _Series] = {}
    names = [side.name for side in sides]
    for number, side in enumerate(sides):
        # Two sides may have one name, as directories of one name elsewhere do.
        own = f"{side.name} ({number + 1})" if names.count(side.name) > 1 else side.name
        for point, setting in zip(side.points, setting_names(side.points), strict=True):
            if point.place is None or caption not in point.plots:
                continue
            name = ", ".join(filter(None, (own, setting)))
            member = series.setdefault((number, setting), _Series(number, setting, name, []))
            member.points.append(point)
    for member in series.values():
        member.points.sort(key=_place)
    return list(series.values())


def _place(point: PointFigures) -> float:
    return point.place.value if point.place is not None else 0.0


def _chart(
    title: str, caption: str, series: Sequence[_Series], curves: Sequence[Curve]
) -> SweepChart:
    """Return a chart of what the points of series plot by a caption."""
    points = [point for member in series for point in member.points]
    texts = {point.place.value: point.place.text for point in points if point.place is not None}
    places = sorted(texts)
    plotted = [point.plots[caption] for point in points]
    ends = [
        value
        for measured in plotted
        for value in (measured.value, measured.low, measured.high)
        if value is not None
    ]
    ends += [y for curve in curves for _, y in curve.points]
    low, high = min(ends), max(ends)
    log = low > 0 and high > 20 * low
    y = upwards(low / 1.2, high * 1.2, log=True) if log else _linear(low, high)
    x = across(places[0] / 1.15, places[-1] * 1.15, log=True)
    lines, dots, keys = [], [], []
    for number, member in enumerate(series):
        name = plain(member.name, 80)
        keys.append((colour(number), name))
        path = " ".join(f"{x(_place(p))},{y(p.plots[caption].value)}" for p in member.points)
        lines.append(Line(path, colour(number), name))
        for point in member.points:
            place, measured = x(_place(point)), point.plots[caption]
            estimate = format_estimate(measured.value, measured.low, measured.high)
            tooltip = f"{plain(point.name, 80)}: {' '.join(filter(None, estimate))}"
            dots.append(Dot(place, y(measured.value), colour(number), tooltip))
            if measured.low is not None and measured.high is not None:
                bar = f"{place},{y(measured.low)} {place},{y(measured.high)}"
                lines.append(Line(bar, colour(number), tooltip))
    for curve in curves:
        path = " ".join(f"{x(at)},{y(value)}" for at, value in curve.points)
        lines.append(Line(path, "model", f"{plain(curve.name, 80)}: the network that fits it"))
    shown = apart([places[-1], *places[:-1]], x, _LABEL)
    x_ticks = [Tick(x(place), texts[place]) for place in sorted(shown)]
    y_ticks = ticks(y, format_general, 5)
    return SweepChart(Chart(title, x_ticks, y_ticks, lines, dots), keys if len(keys) > 1 else [])


def _linear(low: float, high: float) -> Scale:
    bottom = min(0.0, low)
    top = high * 1.1 if high > 0 else 1.0
    return upwards(bottom, top if top > bottom else bottom + 1)
