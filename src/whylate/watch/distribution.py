"""The distribution of latencies in bounded memory, for figures of a run that goes on."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]

#: Classes of an octave: the width of a class is at most a 64th of its values.
_PER_OCTAVE = 64
_OCTAVES = 64
#: Activations above a percentile that it needs.
_LEAST_ABOVE = 10


class Distribution:
    """Counts of latencies in classes of logarithmic width; the maximum is exact."""

    def __init__(self) -> None:
        self._counts = np.zeros(_PER_OCTAVE * _OCTAVES, np.int64)
        self.max_ns: int | None = None

    @property
    def size(self) -> int:
        """Latencies that were added."""
        return int(self._counts.sum())

    def add(self, latency_ns: Int64s) -> None:
        """Add latencies, int64 ns, of any shape; those below 1 ns count as 1 ns."""
        if not latency_ns.size:
            return
        fraction, exponent = np.frexp(np.maximum(latency_ns.ravel(), 1).astype(np.float64))
        within = ((fraction - 0.5) * 2 * _PER_OCTAVE).astype(np.int64)
        classes = (exponent.astype(np.int64) - 1) * _PER_OCTAVE + within
        np.add.at(self._counts, np.minimum(classes, self._counts.size - 1), 1)
        highest = int(latency_ns.max())
        self.max_ns = highest if self.max_ns is None else max(self.max_ns, highest)

    def merge(self, other: Distribution) -> None:
        """Add the latencies of another distribution."""
        self._counts += other._counts
        if other.max_ns is not None:
            self.max_ns = max(other.max_ns, self.max_ns or other.max_ns)

    def percentile(self, share: Fraction) -> int | None:
        """Return the middle of the class of a percentile, ns; None with too few above it.

        It is the smallest latency that at least this share of all does not exceed; within 1 %.
        """
        size = self.size
        if size * (1 - share) < _LEAST_ABOVE:
            return None
        number = int(np.searchsorted(np.cumsum(self._counts), math.ceil(size * share)))
        octave, within = divmod(number, _PER_OCTAVE)
        middle = round(2.0**octave * (1 + (within + 0.5) / _PER_OCTAVE))
        return min(middle, self.max_ns or middle)
