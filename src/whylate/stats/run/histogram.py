"""Latencies counted by octaves: a few hundred numbers that show a distribution on any scale."""

from __future__ import annotations

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.run.values import Values

#: Bins in a factor of two.
PARTS = 24
#: The last octave ends beyond an hour.
_OCTAVES = 42


def edges_ns() -> Floats:
    """Return the edges of all bins, float64, shape (bins + 1,): 1 ns and up, in equal ratios."""
    return np.exp2(np.arange(PARTS * _OCTAVES + 1) / PARTS)


def count_by_octave(values: Values) -> Int64s:
    """Count latencies into bins, int64, shape (bins,); those below 1 ns are left out."""
    return np.diff(values.below(edges_ns()))
