"""The median of a few repetitions, with an interval that supposes nothing of their distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class MedianInterval:
    """A median and its interval; low and high are None where the values are too few for one."""

    value: float
    low: float | None
    high: float | None


def median_interval(values: Sequence[float] | Floats, level: float = 0.95) -> MedianInterval:
    """Return the median of independent values between two order statistics.

    The interval holds the distribution's median with at least that level, whatever it is (Thompson
    1936, Annals of Mathematical Statistics 7): as many values lie below the median as heads fall in
    n throws of a coin. 6 values are the least for 95 %. Raises ValueError for none.
    """
    ascending = np.sort(np.asarray(values, np.float64))
    n = len(ascending)
    if not n:
        raise ValueError("no values have no median")
    value = float(np.median(ascending))
    # The most that may be cut off at each end.
    cut = int(binom.ppf((1 - level) / 2, n, 0.5))
    while cut > 0 and 2 * binom.cdf(cut - 1, n, 0.5) > 1 - level:
        cut -= 1
    if not cut:
        return MedianInterval(value, None, None)
    return MedianInterval(value, float(ascending[cut - 1]), float(ascending[n - cut]))
