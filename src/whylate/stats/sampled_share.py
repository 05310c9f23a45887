"""The share of time in which something holds, of points of a grid in time at which it held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.stats.limits import binomial_limits

CONFIDENCE = 0.95


@dataclass(frozen=True)
class SampledShare:
    """A share of time with its 95 % interval.

    effect: the variance of the counts over that of independent points.
    """

    share: float
    low: float
    high: float
    effect: float


def estimate_share(held: NDArray[np.int64], points: NDArray[np.int64]) -> SampledShare:
    """Estimate the share of time in which something held; raises ValueError without points.

    held, points: in blocks of time, shape (blocks,): at how many of the points it held. The share
    is unbiased however short the times are, where they do not go with the grid. The limits are
    those of Clopper and Pearson for an effective number of points: points in one stretch go
    together, so that number is divided by the variance of the blocks' counts over that of
    independent points, and by no less than 1. They are conditional on this run.
    """
    n = float(points.sum())
    if n <= 0:
        raise ValueError("a share of no points")
    # A stretch counts where it ends: it may have more points than the blocks from there on.
    events = min(n, float(held.sum()))
    share = events / n
    effect = 1.0
    if len(held) > 1 and 0 < share < 1:
        expected = share * points
        variance = float(((held - expected) ** 2).sum()) / (len(held) - 1)
        effect = max(1.0, variance / (share * (1 - share) * float(points.mean())))
    low, high = binomial_limits(events / effect, n / effect, CONFIDENCE)
    return SampledShare(share, low, high, effect)
