"""Charts of several runs: overlaid, in multiples of their peaks, by group, and over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from whylate.compare.overlay import Overlaid
from whylate.compare.runs import Arm
from whylate.quantities import format_ns
from whylate.report.overlay import run_text
from whylate.report.plots.arms import Words, colour, overlaid
from whylate.report.plots.chart import (
    Chart,
    Line,
    Scale,
    across,
    ticks,
    time_label,
    upwards,
)
from whylate.report.plots.timeline import Timeline, timeline
from whylate.stats.arrays import Floats

#: Stretches of a run.
_BINS = 240
#: The colour of runs without a group: the last, which is grey.
_NO_GROUP = 7


def arms_of(overlaid_runs: Overlaid) -> list[Arm]:
    """Return each run as a side of its own, by its number and name."""
    pairs = zip(overlaid_runs.overlay.runs, overlaid_runs.runs, strict=True)
    return [Arm(run_text(shown), (run,)) for shown, run in pairs]


def distributions(overlaid_runs: Overlaid) -> list[Chart]:
    """Return the distributions, linear, logarithmic and scaled to one peak; last by groups."""
    overlay, arms = overlaid_runs.overlay, arms_of(overlaid_runs)
    words = Words(overlay.quantity, overlay.counted, "run")
    charts = overlaid(arms, words)
    if len(overlay.groups) < 2 or not charts:
        return charts
    groups = [_NO_GROUP if run.group is None else run.group - 1 for run in overlay.runs]
    by_group = overlaid(arms, words, groups)[-1]
    return [*charts, replace(by_group, caption="The same, each group of one colour")]


def time_lines(overlaid_runs: Overlaid) -> list[Chart]:
    """Return a chart of each run over time, on one scale: the largest, p99 and the median."""
    drawn = [timeline(series, _BINS) for series in overlaid_runs.series]
    largest = [_largest(line) for line in drawn]
    filled = [values[values > 0] for values in largest]
    levels = [*filled, *(_band(line, "p50") for line in drawn)]
    together = np.concatenate([np.zeros(0), *(values[values > 0] for values in levels)])
    if not together.size:
        return []
    low, high = float(together.min()) / 1.1, float(together.max()) * 1.1
    y = upwards(low, high, log=True)
    quantity = overlaid_runs.overlay.quantity
    charts = []
    for number, (run, line, series) in enumerate(
        zip(overlaid_runs.overlay.runs, drawn, overlaid_runs.series, strict=True)
    ):
        if not any(cpu.size for cpu in series):
            continue
        charts.append(_chart(run_text(run), quantity, line, number, y))
    return charts


def _chart(name: str, quantity: str, line: Timeline, number: int, y: Scale) -> Chart:
    seconds = line.width_ns / 1e9
    x = across(0, max(line.bins * seconds, 1e-9))
    lines = [Line(_steps(_largest(line), seconds, x, y), colour(number), f"largest {quantity}")]
    each = (line.band.bins_each if line.band is not None else 1) * seconds
    for name_of, style in (("p99", "thin"), ("p50", "model")):
        values = _band(line, name_of)
        if values.size:
            lines.append(Line(_steps(values, each, x, y), f"{colour(number)} {style}", name_of))
    worst = float(_largest(line).max())
    return Chart(
        f"{name}: largest {quantity}, p99 and median of each stretch; the largest is "
        f"{format_ns(worst)}",
        ticks(x, lambda value: f"{value:g} s"),
        ticks(y, time_label, 5),
        lines,
    )


def _largest(line: Timeline) -> Floats:
    """Return the largest of all CPUs in each bin, float64; 0 where there is none."""
    if not line.cpus:
        return np.zeros(0)
    values = [np.where(cpu.count > 0, cpu.max_ns, 0) for cpu in line.cpus]
    largest: Floats = np.max(values, axis=0).astype(np.float64)
    return largest


def _band(line: Timeline, name: str) -> Floats:
    if line.band is None:
        return np.zeros(0)
    return np.nan_to_num(line.band.p50_ns if name == "p50" else line.band.p99_ns)


def _steps(values: Floats, wide: float, x: Scale, y: Scale) -> str:
    """Return a line of steps; stretches without a value are left out."""
    points = []
    for number, value in enumerate(values.tolist()):
        if value > 0:
            at = y(value)
            points += [f"{x(number * wide)},{at}", f"{x((number + 1) * wide)},{at}"]
    return " ".join(points)
