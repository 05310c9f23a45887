"""The most frequent value of a counter, to which the peaks of distributions are scaled."""

from __future__ import annotations

import numpy as np

from whylate.stats.arrays import Floats
from whylate.stats.run.histogram import PARTS

#: Below so many values, and so many of them in one bin, none is the most frequent.
LEAST_VALUES = 100
LEAST_IN_BIN = 10


def find_peak(values: Floats) -> float | str:
    """Return the most frequent value; values: shape (n,), not negative. Else why not, as text.

    Values are counted in bins of equal ratios, 24 in a factor of two (2.9 % wide), zeros in one of
    their own; the result is the median of those in the fullest bin, the lowest of several. It
    estimates the mode of the distribution within a bin; of a flat distribution it is drawn to
    whichever bin chance filled. Refused below 100 values, and where the fullest bin has less than
    10.
    """
    if values.size < LEAST_VALUES:
        return f"the most frequent value takes {LEAST_VALUES} values; there are {values.size}"
    positive = values[values > 0]
    zeros = values.size - positive.size
    bins = np.floor(np.log2(positive) * PARTS)
    names, counts = np.unique(bins, return_counts=True)
    fullest = int(counts.max()) if counts.size else 0
    if max(zeros, fullest) < LEAST_IN_BIN:
        return (
            f"no value is frequent: it takes {LEAST_IN_BIN} within 2.9 %, and the most are "
            f"{max(zeros, fullest)}"
        )
    if zeros >= fullest:
        return 0.0
    return float(np.median(positive[bins == names[int(counts.argmax())]]))
