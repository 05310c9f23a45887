"""Charts of a comparison: its sides' latencies overlaid, ratios with intervals, run by run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.compare.model import Comparison, StatisticRow
from whylate.compare.runs import Arm
from whylate.compare.words import percent_text
from whylate.report.chart import (
    Chart,
    Dot,
    Scale,
    Tick,
    across,
    steps_of,
    ticks,
    time_label,
    upwards,
)
from whylate.report.quantities import format_ns
from whylate.report.text import plain
from whylate.stats.octaves import PARTS, edges_ns

#: Colours of sides; more than these repeat.
_COLOURS = 8
#: A row of the forest plot, and the room above the first.
ROW = 34
_ABOVE = 18
#: Changes at which the forest plot has a tick, and the room that its label takes.
_ROUND = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 9, 19, 49, 99, 999)
_LABEL = 90
#: Room for the ratios in figures, right of the forest plot.
_VALUES = 270


def colour(number: int) -> str:
    """Return the class of a side's colour."""
    return f"arm{number % _COLOURS}"


def overlaid(arms: Sequence[Arm]) -> list[Chart]:
    """Return the latency plot of all sides, linear, logarithmic, and with their peaks together.

    The share of activations in each bin, of all runs of a side; the last chart shows whether one
    side is another that is only stretched. None where no side has any latency.
    """
    edges = edges_ns()
    shares = []
    for number, arm in enumerate(arms):
        counts = sum((run.octaves for run in arm.runs if run.octaves is not None),
                     np.zeros(len(edges) - 1, np.int64))  # fmt: skip
        if counts.sum():
            shares.append((number, arm, counts / counts.sum()))
    if not shares:
        return []
    together = np.sum([share for _, _, share in shares], axis=0)
    inside = np.flatnonzero(together)
    low, high = edges[inside[0]], edges[inside[-1] + 1]
    body = float(edges[np.searchsorted(np.cumsum(together), 0.999 * together.sum()) + 1])
    floor = min(share[share > 0].min() for _, _, share in shares) / 2
    top = max(share.max() for _, _, share in shares) * 1.1
    log_y = upwards(floor, top, log=True)
    linear_y = upwards(0, top)
    charts = []
    for caption, x, y in (
        ("The body, on linear scales", across(low, body), linear_y),
        ("All latencies, on logarithmic scales", across(low, high, log=True), log_y),
    ):
        charts.append(
            Chart(
                caption,
                ticks(x, time_label),
                ticks(y, lambda share: f"{100 * share:g} %", 5),
                [steps_of(edges, share, x, y, colour(n), plain(arm.name, 60))
                 for n, arm, share in shares],
            )
        )  # fmt: skip
    peaks = [float(edges[int(share.argmax())]) * 2 ** (0.5 / PARTS) for _, _, share in shares]
    x = across(low / max(peaks), high / min(peaks), log=True)
    charts.append(
        Chart(
            "The same in multiples of the most frequent latency: is one side only stretched?",
            ticks(x, lambda ratio: f"{ratio:g}×"),
            ticks(log_y, lambda share: f"{100 * share:g} %", 5),
            [steps_of(edges / peak, share, x, log_y, colour(n),
                      f"{plain(arm.name, 60)}, peak at {format_ns(peak)}")
             for (n, arm, share), peak in zip(shares, peaks, strict=True)],
        )
    )  # fmt: skip
    return charts


@dataclass(frozen=True)
class Whisker:
    """A row of the forest plot: a ratio and its interval, in units of the box."""

    name: str
    text: str
    y: float
    at: float
    low: float | None
    high: float | None
    clear: bool


@dataclass(frozen=True)
class Forest:
    """Ratios below each other; one: where no difference is."""

    rows: list[Whisker]
    x_ticks: list[Tick]
    one: float
    height: int


def forest(found: Comparison, alpha: float = 0.05) -> Forest | None:
    """Return the ratios of a comparison with their intervals; None where there is none."""
    rows = [row for row in found.statistics if row.ratio is not None and not row.linear]
    if not rows:
        return None
    ends = [value for row in rows for value in (row.ratio, row.low, row.high) if value is not None]
    span = max(1.02, *(max(value, 1 / value) for value in ends)) ** 1.05
    x = across(1 / span, span, log=True, right=_VALUES)
    round_ones = [value for part in _ROUND for value in (1 / (1 + part), 1 + part)]
    shown = sorted(value for value in round_ones if 1 / span < value < span)
    return Forest(
        [_whisker(row, number, x, alpha) for number, row in enumerate(rows)],
        [Tick(x(value), f"× {value:.3g}") for value in _apart(shown, x)],
        x(1.0),
        _ABOVE + ROW * len(rows) + 30,
    )


def _apart(values: Sequence[float], x: Scale) -> list[float]:
    """Return values that stand far enough apart for their labels, from the outermost inwards."""
    kept: list[float] = []
    for value in sorted(values, key=lambda one: -abs(math.log(one))):
        if all(abs(x(value) - x(other)) > _LABEL for other in kept):
            kept.append(value)
    return kept


def _whisker(row: StatisticRow, number: int, x: Scale, alpha: float) -> Whisker:
    text = percent_text(row.ratio or 1.0)
    if row.low is not None and row.high is not None:
        text += f" [{percent_text(row.low)}, {percent_text(row.high)}]"
    return Whisker(
        plain(row.name, 30),
        text,
        _ABOVE + ROW * number + ROW / 2,
        x(row.ratio or 1.0),
        None if row.low is None else x(row.low),
        None if row.high is None else x(row.high),
        row.p is not None and row.p <= alpha,
    )


def run_by_run(arms: Sequence[Arm], statistic: str) -> Chart | None:
    """Return a statistic of each run in the order in which the runs were made."""
    runs = [
        (run.made, number, run) for number, arm in enumerate(arms) for run in arm.runs
        if statistic in run.values
    ]  # fmt: skip
    if len(runs) < 2:
        return None
    runs.sort(key=lambda one: one[0])
    values = [math.exp(run.values[statistic].compared) for _, _, run in runs]
    y = upwards(min(values) / 1.02, max(values) * 1.02, log=max(values) > 3 * min(values))
    x = across(0, len(runs) + 1)
    return Chart(
        f"{statistic} of each run, in the order in which they were made",
        ticks(x, lambda number: f"{number:g}"),
        ticks(y, time_label, 5),
        dots=[
            Dot(x(number), y(value), colour(arm), f"{plain(run.name, 80)}: {format_ns(value)}")
            for number, (value, (_, arm, run)) in enumerate(zip(values, runs, strict=True), 1)
        ],
    )
