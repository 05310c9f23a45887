"""All quantities of executions in one chart, each in multiples of its most frequent value."""

from __future__ import annotations

import numpy as np

from whylate.quantities import format_number
from whylate.report.executions import name_text
from whylate.report.plots.chart import Chart, across, steps_of, ticks, upwards
from whylate.report.plots.scatter import Scattergram
from whylate.stats.arrays import Floats
from whylate.stats.executions.peak import find_peak
from whylate.stats.run.histogram import PARTS
from whylate.summary.executions import Counted

#: Colours of quantities; more than these are not drawn.
_COLOURS = 8
_CAPTION = "All quantities in multiples of their most frequent values"


def overlaid_peaks(counted: Counted) -> Scattergram | None:
    """Return the distributions scaled to one peak; None with fewer than two of them.

    A tail that instructions have and stalls have not, or the reverse, shows where time went.
    """
    drawn = []
    for column in counted.columns:
        values = counted.values[column.name]
        peak = find_peak(values) if values.min() >= 0 else "negative"
        if not isinstance(peak, str) and peak.value > 0:
            drawn.append((name_text(column.name, column.unit), peak.value, values / peak.value))
    drawn = drawn[:_COLOURS]
    if len(drawn) < 2:
        return None
    positive = [ratios[ratios > 0] for _, _, ratios in drawn]
    first = min(_bin(float(ratios.min())) for ratios in positive)
    end = max(_bin(float(ratios.max())) for ratios in positive) + 1
    edges = np.exp2(np.arange(first, end + 1) / PARTS)
    shares = [_shares(ratios, first, end - first) for _, _, ratios in drawn]
    x = across(float(edges[0]), float(edges[-1]), log=True)
    least = min(float(share[share > 0].min()) for share in shares)
    y = upwards(least / 2, max(float(share.max()) for share in shares) * 1.1, log=True)
    lines = []
    for number, ((name, peak_value, ratios), share) in enumerate(zip(drawn, shares, strict=True)):
        title = (
            f"{name}, most frequent {format_number(peak_value)}, largest "
            f"{format_number(float(ratios.max()), 3)} times it"
        )
        lines.append(steps_of(edges, share, x, y, f"arm{number}", title))
    chart = Chart(
        _CAPTION,
        ticks(x, lambda ratio: f"{ratio:g}×"),
        ticks(y, lambda share: f"{100 * share:g} %", 5),
        lines,
    )
    keys = [
        (f"arm{number}", f"{name}: largest {format_number(float(ratios.max()), 3)}×")
        for number, (name, _, ratios) in enumerate(drawn)
    ]
    return Scattergram(chart, keys)


def _bin(ratio: float) -> int:
    return int(np.floor(np.log2(ratio) * PARTS))


def _shares(ratios: Floats, first: int, bins: int) -> Floats:
    """Return the share of executions in each bin; those at zero are in none."""
    of_value = np.floor(np.log2(ratios[ratios > 0]) * PARTS).astype(np.int64) - first
    shares: Floats = np.bincount(of_value, minlength=bins) / ratios.size
    return shares
