"""Charts along a history: how probable a step is at each version, and what runs of each gave."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from whylate.compare.words import amount_text
from whylate.report.plots.arms import colour, scale_of_runs, ticks_of_runs
from whylate.report.plots.chart import (
    Chart,
    Dot,
    Line,
    Scale,
    Tick,
    across,
    ticks,
    upwards,
)
from whylate.stats.arrays import Floats

#: Colours, by the number of a side: probabilities, and versions that cannot be run.
PROBABLE, FAILED = 0, 1


@dataclass(frozen=True)
class PlottedRun:
    """A run: the place of its version, its value in `unit`, and the number of its colour."""

    place: int
    value: float
    sort: int
    title: str


def probabilities(steps: Floats, failed: Collection[int], noun: str) -> Chart:
    """Return how probable a step is at each version, with those that cannot be run.

    steps: shape (versions,), the oldest first. noun: of a version.
    """
    highest = min(1.0, float(steps.max()))
    x, y = _places(len(steps)), upwards(0, max(highest, 0.01) * 1.05)
    base = y(0)
    points = []
    for place, height in enumerate(steps.tolist()):
        # A bar, so that a step at one version has a width.
        left, right, top = x(place - 0.4), x(place + 0.4), y(height)
        points.append(f"{left},{base} {left},{top} {right},{top} {right},{base}")
    return Chart(
        f"Probability of a step at each {noun}",
        _ticks(x),
        ticks(y, lambda part: f"{100 * part:.3g} %", 5),
        [Line(" ".join(points), colour(PROBABLE), f"probability of a step at each {noun}")],
        [
            Dot(x(place), base, colour(FAILED), f"{noun} {place} cannot be built or run")
            for place in sorted(failed)
        ],
    )


def values_along(
    runs: Sequence[PlottedRun], versions: int, statistic: str, unit: str, noun: str
) -> Chart | None:
    """Return the value of each run at the place of its version; None for less than two runs."""
    if len(runs) < 2:
        return None
    values = [run.value for run in runs]
    x = _places(versions)
    y = scale_of_runs(values)
    return Chart(
        f"{statistic} of each run, by {noun}",
        _ticks(x),
        ticks_of_runs(y, unit),
        dots=[
            Dot(
                x(run.place),
                y(run.value),
                colour(run.sort),
                f"{run.title}: {amount_text(run.value, unit)}",
            )
            for run in runs
        ],
    )


def _places(versions: int) -> Scale:
    return across(-0.5, versions - 0.5)


def _ticks(x: Scale) -> list[Tick]:
    whole = ticks(x, lambda place: f"{place:g}")
    return [tick for tick in whole if "." not in tick.label]
