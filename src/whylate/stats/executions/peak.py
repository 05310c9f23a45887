"""The most frequent value of a quantity, to which the peaks of distributions are scaled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.run.histogram import PARTS

#: Below so many values, and so many of them in one bin, none is the most frequent.
LEAST_VALUES = 100
LEAST_IN_BIN = 10
#: Values within this part of the most frequent one are near it.
NEAR = 0.05
#: Blocks of rows that are resampled, and how often.
BLOCKS, _RESAMPLES = 64, 999
_SEED = 31


@dataclass(frozen=True)
class Peak:
    """The most frequent value, and how many values are near it.

    low, high: 95 % interval of the value. near: share of values from near_low to near_high, within
    NEAR of it.
    """

    value: float
    low: float
    high: float
    near: float
    near_low: float
    near_high: float


def find_peak(values: Floats | Int64s) -> Peak | str:
    """Return the most frequent value; values: shape (n,), not negative, in order of time.

    Else return why there is none, as text. Values are counted in bins of equal ratios, 24 in a
    factor of two (2.9 % wide), zeros in one of their own; the result is the median of those in the
    fullest bin, the lowest of several. It estimates the mode of the distribution within a bin; of a
    flat distribution it is drawn to whichever bin chance filled. The interval has the bins that are
    the fullest in 95 % of resamples of 64 blocks of consecutive values, from edge to edge, which
    makes it wide rather than narrow; of a distribution with two peaks of one height it has both.
    Refused below 100 values, and where the fullest bin has less than 10.
    """
    if values.size < LEAST_VALUES:
        return f"the most frequent value takes {LEAST_VALUES} values; there are {values.size}"
    positive = values > 0
    octaves = np.floor(np.log2(values[positive]) * PARTS).astype(np.int64)
    lowest = int(octaves.min(initial=1 << 40))
    of_value = np.zeros(values.size, np.int64)
    of_value[positive] = octaves - lowest + 1
    counts = np.bincount(of_value)
    fullest = int(counts.max())
    if fullest < LEAST_IN_BIN:
        return (
            f"no value is frequent: it takes {LEAST_IN_BIN} within 2.9 %, and the most are "
            f"{fullest}"
        )
    value = float(np.median(values[of_value == int(counts.argmax())]))
    first, last = _fullest(of_value, counts.size)
    low, high = _edges(first, lowest)[0], _edges(last, lowest)[1]
    ends = (value * (1 - NEAR), value * (1 + NEAR))
    near = int(np.count_nonzero((values >= ends[0]) & (values <= ends[1]))) / values.size
    return Peak(value, min(low, value), max(high, value), near, *ends)


def _fullest(of_value: Int64s, bins: int) -> tuple[int, int]:
    """Return the first and the last of the bins that are the fullest in 95 % of resamples."""
    n = of_value.size
    block = np.arange(n, dtype=np.int64) * BLOCKS // n
    counts = np.bincount(block * bins + of_value, minlength=BLOCKS * bins).reshape(BLOCKS, bins)
    often = np.random.default_rng(_SEED).multinomial(BLOCKS, [1 / BLOCKS] * BLOCKS, _RESAMPLES)
    fullest = np.sort((often.astype(np.float32) @ counts.astype(np.float32)).argmax(axis=1))
    cut = int(0.025 * _RESAMPLES)
    return int(fullest[cut]), int(fullest[-1 - cut])


def _edges(number: int, lowest: int) -> tuple[float, float]:
    """Return where a bin begins and ends; the first is that of zeros."""
    if not number:
        return 0.0, 0.0
    octave = (number - 1 + lowest) / PARTS
    return float(np.exp2(octave)), float(np.exp2(octave + 1 / PARTS))
