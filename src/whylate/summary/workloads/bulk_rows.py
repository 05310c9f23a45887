"""Delays and the time of the work from the rows of the benchmark `bulk`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whylate.recording.repetitions import Repetitions
from whylate.stats.run.quantiles import EXCEEDANCES

#: Delays that each repetition needs for a p99: it is refused with fewer expected exceedances.
FEWEST_FOR_P99 = 100 * EXCEEDANCES


def delay_names(rows: Repetitions) -> tuple[str, ...]:
    """Return the columns of delays that are known: of few delays the p99 is not."""
    enough = rows.n and int(rows.column("delays").min()) >= FEWEST_FOR_P99
    return ("p50_ns", "p99_ns") if enough else ("p50_ns",)


def in_turns(rows: Repetitions, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the median of each turn, shape (turns,); values: of the rows, shape (n,)."""
    turns = rows.column("turn")
    return np.array([np.median(values[turns == turn]) for turn in np.unique(turns)])


def work_in_turns(rows: Repetitions) -> NDArray[np.float64]:
    """Return the median ns of a pass in each turn, shape (turns,)."""
    return in_turns(rows, rows.column("ns") / np.maximum(rows.column("passes"), 1))
