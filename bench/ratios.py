"""Paired ratios with intervals: what every comparison of this folder prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Ratio:
    """A typical ratio of pairs and its 95 % interval."""

    value: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        """Return it as one phrase."""
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}] ({self.pairs} pairs)"


@dataclass(frozen=True)
class Difference:
    """A typical difference of pairs and its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """Return it as one phrase."""
        return f"{self.value:,.1f} [{self.low:,.1f}, {self.high:,.1f}]"


def paired_difference(these: Sequence[float], those: Sequence[float]) -> Difference:
    """Return the Hodges–Lehmann estimate of these − those over pairs of runs.

    Raises ValueError for fewer than 6 pairs.
    """
    return Difference(*_hodges_lehmann(np.asarray(these, float) - np.asarray(those, float)))


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Return the Hodges–Lehmann estimate of ours/theirs over pairs of runs.

    Raises ValueError for fewer than 10 pairs.
    """
    logs = np.log(np.asarray(ours, float) / np.asarray(theirs, float))
    if logs.size < 10:
        raise ValueError(f"{logs.size} pairs are too few for an interval: at least 10")
    value, low, high = np.exp(_hodges_lehmann(logs)).tolist()
    return Ratio(value, low, high, logs.size)


def _hodges_lehmann(values: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the median of the Walsh averages and its 95 % interval.

    The interval inverts Wilcoxon's signed-rank test, with the normal approximation to its
    distribution (n ≥ 10); below that it is from the least value to the largest, which holds the
    median in 1 − 2^(1−n) of samples: 97 % of 6.
    """
    n = values.size
    if n < 6:
        raise ValueError(f"{n} pairs are too few for an interval: at least 6")
    i, j = np.triu_indices(n)
    walsh = np.sort((values[i] + values[j]) / 2)
    spread = 1.959964 * np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    k = max(0, int(np.floor(n * (n + 1) / 4 - spread))) if n >= 10 else 0
    return float(np.median(walsh)), float(walsh[k]), float(walsh[walsh.size - 1 - k])
