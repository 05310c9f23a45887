"""How much less n dependent samples say about a fraction than n independent ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

from whylate.stats.arrays import Int64s
from whylate.stats.limits import normal, student_t

_FINEST = 1024
_COARSEST = 64
_LEVELS = 3


@dataclass(frozen=True)
class Dependence:
    """design_effect: variance of the fraction over that of independent rows, at least 1.

    degrees: degrees of freedom behind design_effect.
    """

    design_effect: float
    degrees: float

    def deflate(self, confidence: float) -> float:
        """Factor from rows to effective rows for an interval with this confidence.

        1 / design_effect, times (z / t)² for the design effect being itself estimated: the
        adjustment of Korn and Graubard (1998), Survey Methodology 24.
        """
        if math.isinf(self.degrees):
            return 1 / self.design_effect
        tail = 0.5 + confidence / 2
        widen = normal(tail) / student_t(tail, max(1.0, self.degrees))
        return widen * widen / self.design_effect

    def at_least(self, other: Dependence) -> Dependence:
        """Return this one, with a design effect no smaller than the other's."""
        return Dependence(max(self.design_effect, other.design_effect), self.degrees)


INDEPENDENT = Dependence(1.0, math.inf)


def block_count(longest: int) -> int:
    """How many blocks of time a run wants whose longest series has this many rows.

    About the square root of the rows, a power of two, 8 to 1024: blocks must be long against
    the dependence and still many.
    """
    if longest < 16:
        return max(1, longest // 2)
    return int(min(_FINEST, max(8, 2 ** int(math.log2(math.sqrt(longest))))))


def estimate_dependence(events: Int64s, totals: Int64s) -> Dependence:
    """Estimate the design effect of a fraction from its counts in blocks of time.

    events, totals: int64, shape (blocks,): rows with the event and all rows of each block.

    Estimates Var(fraction) / (fraction (1 - fraction) / n) from the variance of the residuals
    events - fraction * totals between blocks, at this block length and at twice and four times
    it, and takes the largest. The degrees of freedom follow from the kurtosis of the residuals
    (Satterthwaite): few clusters in many empty blocks say little. Biased low by about the range
    of the dependence over the block length, which the longer blocks show, and high by taking a
    maximum; never below 1, so that regular spacing does not narrow an interval. Never refused:
    where nothing can be estimated (no event, nothing but events, one block) it is independence.
    """
    fraction_events, n = int(events.sum()), int(totals.sum())
    if not 0 < fraction_events < n:
        return INDEPENDENT
    fraction = fraction_events / n
    independent = n * fraction * (1 - fraction)
    worst = INDEPENDENT
    worst_width = 0.0
    for _level in range(_LEVELS):
        inside = totals > 0
        residual = events[inside] - fraction * totals[inside]
        blocks = len(residual)
        if blocks < 2:
            break
        square = residual * residual
        total = float(square.sum())
        if not total:
            break  # every block has just its part of the events, and so has every longer one
        effect = max(1.0, total * blocks / (blocks - 1) / independent)
        kurtosis = float((square * square).mean()) * blocks * blocks / (total * total)
        degrees = min(blocks - 1.0, 2 * blocks / max(kurtosis - 1, 1e-9))
        level = Dependence(effect, max(1.0, degrees))
        width = 1 / level.deflate(0.95)
        if width > worst_width:
            worst, worst_width = level, width
        if len(events) % 2 or len(events) // 2 < _COARSEST:
            break
        events = events.reshape(-1, 2).sum(axis=1)
        totals = totals.reshape(-1, 2).sum(axis=1)
    return worst


def more_dependent(first: Dependence, second: Dependence) -> Dependence:
    """Whichever of the two leaves fewer effective rows."""
    return min((first, second), key=lambda dependence: dependence.deflate(0.95))
