"""The repetitions of a benchmark in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: Columns of every benchmark.
PLACE = ("turn", "point", "repetition")

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Repetitions:
    """The repetitions of a run, in the order in which they were made.

    columns: by name, int64, shape (n,). value: float64, shape (n,), nan where there is none; None
    where the workload has none. counts: of each counter, int64, shape (n,).
    """

    columns: Mapping[str, Int64s]
    value: Floats | None
    counts: Mapping[str, Int64s]

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.columns["turn"])

    def column(self, name: str) -> Int64s:
        """Return a column."""
        return self.columns[name]

    def where(self, chosen: NDArray[np.bool_]) -> Repetitions:
        """Return some of the rows."""
        return Repetitions(
            {name: column[chosen] for name, column in self.columns.items()},
            None if self.value is None else self.value[chosen],
            {name: column[chosen] for name, column in self.counts.items()},
        )
