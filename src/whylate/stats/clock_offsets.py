"""How far one clock is ahead of another, and how their rates differ, from exchanges of readings.

The first clock is read, the second is, and the first is again: b, p, e. The second is ahead by p
minus the time of the first at the moment p was read, which lies in [b, e]: the offset is
p - (b + e) / 2, wrong by at most (e - b) / 2 (Cristian 1989, Distributed Computing 3). The quickest
exchange bounds it best. With a constant rate all exchanges together bound offset and rate: the line
of the offset over time lies within the bounds of each (as of linear clock bounds, Duda et al. 1987,
ICDCS 7).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats, Int64s

#: The quickest exchanges that bound the line: those that are left out only make bounds wider.
_MOST_EXCHANGES = 2000
#: Times the quickest: exchanges that take longer have no part in the regression.
_QUICK = 2.0
#: With fewer there is no rate.
_FEWEST_FOR_RATE = 6


@dataclass(frozen=True)
class ClockOffset:
    """How the second clock is to the first.

    offset_ns: at the middle of the exchanges, with bounds that hold if the rate is constant, and
    else are those of the quickest exchange. ppm: by how much the second is faster, in millionths,
    by regression over the quick exchanges; None: too few. low_ppm, high_ppm: bounds of a constant
    rate; None: no such rate fits all exchanges. quickest_ns: the shortest time between the two
    readings of the first clock.
    """

    offset_ns: float
    low_ns: float
    high_ns: float
    at_ns: float
    quickest_ns: int
    ppm: float | None = None
    low_ppm: float | None = None
    high_ppm: float | None = None


def estimate_offset(begin_ns: Int64s, peer_ns: Int64s, end_ns: Int64s) -> ClockOffset:
    """Estimate offset and rate from exchanges, shape (n,), in any order.

    Raises ValueError for none, and for exchanges that end before they begin.
    """
    if not len(begin_ns):
        raise ValueError("no exchange has no offset")
    half = (end_ns - begin_ns).astype(np.float64) / 2
    if (half < 0).any():
        raise ValueError("an exchange ends before it begins")
    # Of integers, as double precision has no room for ns since the epoch.
    ahead = (peer_ns - begin_ns).astype(np.float64) - half
    base = int(begin_ns.min())
    time = (begin_ns - base).astype(np.float64) + half
    middle = (float(time.min()) + float(time.max())) / 2
    quickest = int(np.argmin(half))
    bounds = _bounds(time - middle, ahead, half)
    slope = _slope(time - middle, ahead, half)
    low_rate = high_rate = None
    if bounds is None:
        # No constant rate fits: only the exchange itself is sure.
        at, offset = time[quickest], ahead[quickest]
        low, high = offset - half[quickest], offset + half[quickest]
    else:
        at = middle
        low, high = bounds[0]
        offset = (low + high) / 2 if slope is None else slope[0]
        if len(time) > 1:
            low_rate, high_rate = bounds[1]
    rate = None
    if slope is not None and bounds is not None:
        rate = float(np.clip(slope[1], low_rate, high_rate))
    return ClockOffset(
        offset_ns=float(np.clip(offset, low, high)),
        low_ns=float(low),
        high_ns=float(high),
        at_ns=base + float(at),
        quickest_ns=int((end_ns - begin_ns)[quickest]),
        ppm=_millionths(rate),
        low_ppm=_millionths(low_rate),
        high_ppm=_millionths(high_rate),
    )


def _millionths(rate: float | None) -> float | None:
    return None if rate is None else rate * 1e6


def _slope(time: Floats, ahead: Floats, half: Floats) -> tuple[float, float] | None:
    """Return the offset at time 0, and the slope, by least squares over the quick exchanges.

    Slow ones are wrong in one direction, that of whoever was interrupted, and no regression over
    them has an interval that holds.
    """
    n = len(time)
    if n < _FEWEST_FOR_RATE:
        return None
    limit = max(_QUICK * float(half.min()), float(np.sort(half)[_FEWEST_FOR_RATE - 1]))
    quick = half <= limit
    x, y = time[quick], ahead[quick]
    centre, level = float(x.mean()), float(y.mean())
    spread = float(((x - centre) ** 2).sum())
    if not spread:
        return None
    slope = float(((x - centre) * (y - level)).sum()) / spread
    return level - slope * centre, slope


def _bounds(
    time: Floats, ahead: Floats, half: Floats
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Return the range of the offset at time 0, and of the slope, of all lines within the bounds.

    None: there is no such line.
    """
    # Slow to import, and most runs compare no clocks.
    from scipy.optimize import linprog

    chosen = np.argsort(half, kind="stable")[:_MOST_EXCHANGES]
    time, ahead, half = time[chosen], ahead[chosen], half[chosen]
    if len(time) == 1 or not np.ptp(time):
        low, high = float((ahead - half).max()), float((ahead + half).min())
        return ((low, high), (-1.0, 1.0)) if low <= high else None
    # Offset and slope in units in which all figures are about 1.
    reach, height = float(np.abs(time).max()), float(np.median(half)) or 1.0
    level = float(np.median(ahead))
    ones = np.ones_like(time)
    above = np.column_stack([ones, time / reach])
    rows = np.concatenate([above, -above])
    limits = np.concatenate([ahead - level + half, half - ahead + level]) / height
    ends = []
    for direction in ([1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]):
        solved = linprog(direction, A_ub=rows, b_ub=limits, bounds=(None, None), method="highs")
        if not solved.success:
            return None
        ends.append(float(solved.fun) * height)
    scale = 1 / reach
    return (
        (level + ends[0], level - ends[1]),
        (ends[2] * scale, -ends[3] * scale),
    )
