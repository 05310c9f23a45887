"""All stretches in which interrupts or preemption were disabled, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whylate.recording.off import MOST_BINS, OffBin

#: The columns of stretches.parquet.
STRETCH_COLUMNS = ("turn", "at_ns", "seen_ns", "points", "cpu", "pid", "group")


@dataclass(frozen=True)
class Stretches:
    """All stretches of a recording; columns: STRETCH_COLUMNS, int64, shape (n,)."""

    columns: Mapping[str, NDArray[np.int64]]

    @property
    def n(self) -> int:
        """The number of stretches."""
        return len(self.columns["turn"])


def bin_stretches(seen_ns: NDArray[np.int64], period_ns: int) -> list[OffBin]:
    """Return how many stretches lasted how long, of those of a period or more."""
    edges = np.round(period_ns * 2.0 ** (np.arange(MOST_BINS + 1) / 2)).astype(np.int64)
    edges = edges[: int(np.searchsorted(edges, int(seen_ns.max(initial=0)), "right")) + 1]
    counts: NDArray[Any] = np.empty(0, np.int64)
    if edges.size > 1:
        counts, _ = np.histogram(np.minimum(seen_ns, edges[-1] - 1), edges)
    return [
        OffBin(int(low), int(high), int(count))
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
