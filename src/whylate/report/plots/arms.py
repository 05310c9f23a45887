"""Charts of the sides of a comparison: their latencies overlaid, and their runs one by one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.compare.runs import Arm
from whylate.compare.words import amount_text
from whylate.quantities import format_general, format_ns
from whylate.report.plots.chart import (
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
from whylate.stats.run.histogram import PARTS, edges_ns
from whylate.text import plain

#: Colours of sides; more than these repeat.
_COLOURS = 8


def colour(number: int) -> str:
    """Return the class of a side's colour."""
    return f"arm{number % _COLOURS}"


@dataclass(frozen=True)
class Words:
    """What is measured, of what, and what each side is called."""

    quantity: str = "latency"
    counted: str = "activations"
    side: str = "side"


def overlaid(
    arms: Sequence[Arm], words: Words | None = None, colours: Sequence[int] | None = None
) -> list[Chart]:
    """Return the latency plot of all sides, linear, logarithmic, and with their peaks together.

    The share of activations in each bin, of all runs of a side; the last chart shows whether one
    side is another that is only stretched. None where no side has any latency. colours: the number
    of each side's colour; None: each has its own.
    """
    words = words or Words()
    edges = edges_ns()
    shares = []
    for number, arm in enumerate(arms):
        counts = sum((run.octaves for run in arm.runs if run.octaves is not None),
                     np.zeros(len(edges) - 1, np.int64))  # fmt: skip
        if counts.sum():
            of_side = colour(number if colours is None else colours[number])
            shares.append((of_side, arm, counts / counts.sum()))
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
        (f"All {words.counted}, on logarithmic scales", across(low, high, log=True), log_y),
    ):
        charts.append(
            Chart(
                caption,
                ticks(x, time_label),
                ticks(y, lambda share: f"{100 * share:g} %", 5),
                [steps_of(edges, share, x, y, of_side, plain(arm.name, 60))
                 for of_side, arm, share in shares],
            )
        )  # fmt: skip
    peaks = [float(edges[int(share.argmax())]) * 2 ** (0.5 / PARTS) for _, _, share in shares]
    x = across(low / max(peaks), high / min(peaks), log=True)
    charts.append(
        Chart(
            f"The same in multiples of the most frequent {words.quantity}: is one {words.side} "
            "only stretched?",
            ticks(x, lambda ratio: f"{ratio:g}×"),
            ticks(log_y, lambda share: f"{100 * share:g} %", 5),
            [steps_of(edges / peak, share, x, log_y, of_side,
                      f"{plain(arm.name, 60)}, peak at {format_ns(peak)}")
             for (of_side, arm, share), peak in zip(shares, peaks, strict=True)],
        )
    )  # fmt: skip
    return charts


def scale_of_runs(values: Sequence[float]) -> Scale:
    """Return the y axis for values of runs, which are above zero."""
    return upwards(min(values) / 1.02, max(values) * 1.02, log=max(values) > 3 * min(values))


def ticks_of_runs(y: Scale, unit: str) -> list[Tick]:
    """Return ticks at round values of a statistic in that unit."""

    def label(value: float) -> str:
        return time_label(value) if unit == "ns" else f"{format_general(value)} {unit}".rstrip()

    return ticks(y, label, 5)


def run_by_run(arms: Sequence[Arm], statistic: str, unit: str = "ns") -> Chart | None:
    """Return a statistic of each run in the order in which the runs were made; unit: of it."""
    runs = [
        (run.made, number, run) for number, arm in enumerate(arms) for run in arm.runs
        if statistic in run.values
    ]  # fmt: skip
    if len(runs) < 2:
        return None
    runs.sort(key=lambda run: run[0])
    values = [math.exp(run.values[statistic].compared) for _, _, run in runs]
    y = scale_of_runs(values)
    x = across(0, len(runs) + 1)
    return Chart(
        f"{statistic} of each run, in the order in which they were made",
        ticks(x, lambda number: f"{number:g}"),
        ticks_of_runs(y, unit),
        dots=[
            Dot(
                x(number),
                y(value),
                colour(arm),
                f"{plain(run.name, 80)}: {amount_text(value, unit)}",
            )
            for number, (value, (_, arm, run)) in enumerate(zip(values, runs, strict=True), 1)
        ],
    )
