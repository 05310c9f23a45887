"""Throughput from the rows of the benchmark `clock`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from whylate.recording.repetitions import Repetitions


def throughputs(rows: Repetitions) -> NDArray[np.float64]:
    """Return the calls per µs of all threads together in each turn, shape (turns,).

    Divided by the time of the thread that ran longest: a thread that waited for a CPU first may
    have begun later, and did nothing before.
    """
    different, first, which = np.unique(
        clock_repetitions(rows), return_index=True, return_inverse=True
    )
    calls = np.bincount(which, rows.column("calls").astype(np.float64))
    longest = np.zeros(len(different))
    np.maximum.at(longest, which, rows.column("ns").astype(np.float64))
    rates = calls / np.maximum(longest, 1) * 1e3
    turns = rows.column("turn")[first]
    return np.array([np.median(rates[turns == turn]) for turn in np.unique(turns)])


def clock_repetitions(rows: Repetitions) -> NDArray[np.int64]:
    """Return a number for the repetition of each row, shape (n,): its threads share it."""
    return rows.column("turn") * (1 << 20) + rows.column("repetition")
