"""Paired ratios with intervals: what every comparison of this folder prints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


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


def paired_ratio(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Return the Hodges–Lehmann estimate of ours/theirs over pairs of runs.

    The median of the Walsh averages of the log ratios; the interval inverts Wilcoxon's
    signed-rank test, with the normal approximation to its distribution (n ≥ 10).
    """
    logs = np.log(np.asarray(ours, float) / np.asarray(theirs, float))
    n = logs.size
    if n < 10:
        raise ValueError(f"{n} pairs are too few for an interval: at least 10")
    i, j = np.triu_indices(n)
    walsh = np.sort((logs[i] + logs[j]) / 2)
    spread = 1.959964 * np.sqrt(n * (n + 1) * (2 * n + 1) / 24)
    k = max(0, int(np.floor(n * (n + 1) / 4 - spread)))
    return Ratio(
        float(np.exp(np.median(walsh))),
        float(np.exp(walsh[k])),
        float(np.exp(walsh[walsh.size - 1 - k])),
        n,
    )
