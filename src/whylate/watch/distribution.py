"""The distribution of latencies in bounded memory, for figures of a run that goes on."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

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
        #: The lowest bound of an overrun, whose latency may be any above it.
        self._overrun_ns: int | None = None

    @property
    def size(self) -> int:
        """Latencies that were added."""
        return int(self._counts.sum())

    def add(self, latency_ns: Int64s, overrun: Bools) -> None:
        """Add latencies, int64 ns, of any shape; those below 1 ns count as 1 ns.

        overrun: bool, of the same shape: which are lower bounds.
        """
        if not latency_ns.size:
            return
        if overrun.any():
            self._add_overrun(int(latency_ns[overrun].min()))
        fraction, exponent = np.frexp(np.maximum(latency_ns.ravel(), 1).astype(np.float64))
        within = ((fraction - 0.5) * 2 * _PER_OCTAVE).astype(np.int64)
        classes = (exponent.astype(np.int64) - 1) * _PER_OCTAVE + within
        np.add.at(self._counts, np.minimum(classes, self._counts.size - 1), 1)
        highest = int(latency_ns.max())
        self.max_ns = highest if self.max_ns is None else max(self.max_ns, highest)

    def merge(self, other: Distribution) -> None:
        """Add the latencies of another distribution."""
        self._counts += other._counts
        if other._overrun_ns is not None:
            self._add_overrun(other._overrun_ns)
        if other.max_ns is not None:
            self.max_ns = max(other.max_ns, self.max_ns or other.max_ns)

    def _add_overrun(self, bound_ns: int) -> None:
        self._overrun_ns = min(bound_ns, self._overrun_ns or bound_ns)

    def is_at_least(self, figure_ns: int | None) -> bool:
        """Whether a figure is a lower bound: an overrun of at most that latency may be longer."""
        if figure_ns is None or self._overrun_ns is None:
            return False
        # A percentile is the middle of its class.
        return self._overrun_ns <= figure_ns * (1 + 1 / _PER_OCTAVE)

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
