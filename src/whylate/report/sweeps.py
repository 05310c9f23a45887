"""Charts of what was swept: a line through the points of each series, of one run or of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from whylate.compare.runs import Arm
from whylate.recording.workloads.benchmarks import BenchmarkPoint
from whylate.recording.workloads.clock import ClockPoint
from whylate.recording.workloads.memory import MemoryPoint
from whylate.recording.workloads.point_names import series_names, size_text
from whylate.recording.workloads.switch import SwitchPoint
from whylate.report.arms import colour
from whylate.report.chart import Chart, Dot, Line, Scale, Tick, across, ticks, upwards
from whylate.report.trials import number
from whylate.stats.closed_network import throughput
from whylate.summary.trial_model import (
    Fact,
    Measured,
    NetworkFigures,
    PointFigures,
    TrialsSummary,
)
from whylate.text import plain

#: What is swept along the x axis, by the kind of point, and what it is called.
_SWEPT: dict[type[BenchmarkPoint], tuple[str, str]] = {
    SwitchPoint: ("tasks", "tasks"),
    MemoryPoint: ("size", "size of the buffer"),
    ClockPoint: ("threads", "threads"),
}
#: Figures that are drawn, by their keys, and what they are called.
_DRAWN = {
    "ns_per_switch": "ns a switch",
    "flushes_per_switch": "flushes of the translation buffer a switch",
    "gb_per_s": "GB/s",
    "ns_per_read": "ns a read",
    "ns_per_call": "ns a call",
    "calls_per_us": "calls a µs of all threads (dashed: the closed network that was fitted)",
}
#: Series of one chart, as many as can be told apart, and charts of one figure.
MOST_SERIES, MOST_CHARTS = 16, 12


@dataclass(frozen=True)
class Swept:
    """Points of one side. name: of the side; "" where there is one alone."""

    name: str
    points: Sequence[PointFigures]


@dataclass(frozen=True)
class SweepChart:
    """A chart and what its colours mean."""

    chart: Chart
    keys: list[tuple[str, str]]


@dataclass(frozen=True)
class _Series:
    #: The number of its side, and what tells it from others of that side.
    side: int
    setting: str
    name: str
    #: Where it is swept, and what was found there.
    at: list[tuple[float, Measured, str]]


def sweep_charts(sides: Sequence[Swept], networks: Sequence[NetworkFigures] = ()) \
        -> list[SweepChart]:  # fmt: skip
    """Return a chart for each figure that was swept; none where nothing was.

    networks: of a clock, whose throughputs are drawn beside what was measured.
    """
    points = [one for side in sides for one in side.points]
    kind = type(points[0].point) if points else None
    if kind is None or kind not in _SWEPT:
        return []
    field, called = _SWEPT[kind]
    if len({getattr(one.point, field) for one in points}) < 2:
        return []
    found = []
    for key, label in _DRAWN.items():
        series = _series(sides, key, field)
        if series:
            curves = networks if key == "calls_per_us" else ()
            found += _charts(f"{label}, by {called}", series, field, curves)
    return found


def _charts(
    caption: str, series: Sequence[_Series], field: str, curves: Sequence[NetworkFigures]
) -> list[SweepChart]:
    """Return one chart of all series, or as many as it takes to tell them apart.

    Of several sides each of these has one setting, so that sides are laid over each other.
    """
    if len(series) <= MOST_SERIES:
        return [_chart(caption, series, field, curves)]
    if len({one.side for one in series}) > 1:
        settings = dict.fromkeys(one.setting for one in series)
        groups = [[one for one in series if one.setting == setting] for setting in settings]
        captions = [f"{caption} ({setting})" if setting else caption for setting in settings]
    else:
        groups = [list(series[at : at + MOST_SERIES]) for at in range(0, len(series), MOST_SERIES)]
        captions = [f"{caption} ({at} of {len(groups)})" for at in range(1, len(groups) + 1)]
    shown = [group[:MOST_SERIES] for group in groups[:MOST_CHARTS]]
    left_out = len(series) - sum(map(len, shown))
    if left_out:
        last = len(shown) - 1
        captions[last] += f"; {left_out} more series are not drawn"
    return [
        _chart(plain(caption, 300), group, field, curves)
        for caption, group in zip(captions, shown, strict=False)
    ]


def swept_by(arms: Sequence[Arm]) -> list[Swept]:
    """Return the sides of a comparison: of each point the median over its runs."""
    return [
        Swept(plain(arm.name, 60), found)
        for arm in arms
        if (found := _medians([run.trials for run in arm.runs if run.trials is not None]))
    ]


def _medians(runs: Sequence[TrialsSummary]) -> list[PointFigures]:
    by_name: dict[str, list[PointFigures]] = {}
    for run in runs:
        for one in run.points:
            if not one.refused:
                by_name.setdefault(one.name, []).append(one)
    found = []
    for points in by_name.values():
        figures = {
            key: Measured(float(np.median([one.figures[key].value for one in points])))
            for key in points[0].figures
            if all(key in one.figures for one in points)
        }
        facts = {**points[0].facts, **_median_facts(points)}
        found.append(msgspec.structs.replace(points[0], figures=figures, facts=facts))
    return found


def _median_facts(points: Sequence[PointFigures]) -> dict[str, Fact]:
    """Return the medians of what was counted in all runs and is drawn."""
    found: dict[str, Fact] = {}
    for key in _DRAWN:
        values = [value for one in points if isinstance(value := one.facts.get(key), float)]
        if values:
            found[key] = float(np.median(values)) if len(values) == len(points) else None
    return found


def _series(sides: Sequence[Swept], key: str, field: str) -> list[_Series]:
    """Return a series for each setting of all that is not swept, of each side."""
    found: dict[tuple[int, str], _Series] = {}
    called = [side.name for side in sides]
    for at, side in enumerate(sides):
        # Two sides may have one name, as directories of one name elsewhere do.
        twice = called.count(side.name) > 1
        called_so = f"{side.name} ({at + 1})" if twice else side.name
        rests = [msgspec.structs.replace(one.point, **{field: 1}) for one in side.points]
        names = dict(zip(rests, _rest_names(rests), strict=True))
        for one, rest in zip(side.points, rests, strict=True):
            measured = _measured(one, key)
            if measured is None:
                continue
            name = ", ".join(text for text in (called_so, names[rest]) if text)
            series = found.setdefault((at, names[rest]), _Series(at, names[rest], name, []))
            series.at.append((float(getattr(one.point, field)), measured, one.name))
    for series in found.values():
        series.at.sort(key=lambda each: each[0])
    return list(found.values())


def _rest_names(rests: Sequence[BenchmarkPoint]) -> list[str]:
    """Return what tells settings apart that are all swept at the same places."""
    different = list(dict.fromkeys(rests))
    if len(different) == 1:
        return [""] * len(rests)
    of = dict(zip(different, series_names(different), strict=True))
    return [of[one] for one in rests]


def _measured(one: PointFigures, key: str) -> Measured | None:
    if key in one.figures:
        return one.figures[key]
    fact = one.facts.get(key)
    return Measured(float(fact)) if isinstance(fact, float) else None


def _chart(
    caption: str, series: Sequence[_Series], field: str, networks: Sequence[NetworkFigures]
) -> SweepChart:
    places = sorted({at for one in series for at, _, _ in one.at})
    ends = [
        value
        for one in series
        for _, found, _ in one.at
        for value in (found.value, found.low, found.high)
        if value is not None
    ]
    ends += [_predicted(one, place) for one in networks for place in places]
    low, high = min(ends), max(ends)
    log = low > 0 and high > 20 * low
    y = upwards(low / 1.2, high * 1.2, log=True) if log else _linear(low, high)
    x = across(places[0] / 1.15, places[-1] * 1.15, log=True)
    lines, dots, keys = [], [], []
    for at, one in enumerate(series):
        keys.append((colour(at), plain(one.name, 80)))
        points = " ".join(f"{x(place)},{y(found.value)}" for place, found, _ in one.at)
        lines.append(Line(points, colour(at), plain(one.name, 80)))
        for place, found, name in one.at:
            title = f"{plain(name, 80)}: {_figure(found)}"
            dots.append(Dot(x(place), y(found.value), colour(at), title))
            if found.low is not None and found.high is not None:
                bar = f"{x(place)},{y(found.low)} {x(place)},{y(found.high)}"
                lines.append(Line(bar, colour(at), title))
    lines += [_curve(one, places, x, y) for one in networks]
    label = size_text_of if field == "size" else _plain_number
    return SweepChart(
        Chart(caption, [Tick(x(place), label(place)) for place in _apart(places, x)],
              ticks(y, lambda value: f"{value:g}", 5), lines, dots),
        keys if len(keys) > 1 else [],
    )  # fmt: skip


def _linear(low: float, high: float) -> Scale:
    bottom = min(0.0, low)
    top = high * 1.1 if high > 0 else 1.0
    return upwards(bottom, top if top > bottom else bottom + 1)


def _apart(places: Sequence[float], x: Scale) -> list[float]:
    """Return places far enough apart for their labels, the first and the last among them."""
    kept = [places[-1]]
    for place in places[:-1]:
        if all(abs(x(place) - x(other)) > 60 for other in kept):
            kept.append(place)
    return sorted(kept)


def _predicted(one: NetworkFigures, threads: float) -> float:
    """Return the calls a µs of so many threads, by the network that was fitted."""
    return throughput(int(threads), one.think_ns.value / 1e3, one.service_ns.value / 1e3)


def _curve(one: NetworkFigures, places: Sequence[float], x: Scale, y: Scale) -> Line:
    counts = range(int(places[0]), int(places[-1]) + 1)
    step = max(1, len(counts) // 64)
    points = " ".join(f"{x(n)},{y(_predicted(one, n))}" for n in counts[::step])
    return Line(points, "model", f"{plain(one.name, 80)}: the closed network that fits it")


def _figure(found: Measured) -> str:
    if found.low is None or found.high is None:
        return number(found.value)
    return f"{number(found.value)} [{number(found.low)}, {number(found.high)}]"


def size_text_of(size: float) -> str:
    """Write a size on an axis."""
    return size_text(round(size))


def _plain_number(value: float) -> str:
    return f"{value:g}"
