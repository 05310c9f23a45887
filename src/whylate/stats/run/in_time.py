"""The latencies of all series in the order in which they were due: of so many that memory holds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whylate.stats.arrays import Int64s
from whylate.stats.run.cpu_series import CpuSeries, latencies, rows, time_blocks

#: Of a longer run a part of each stretch is read.
MOST_ROWS = 4_000_000
_STRETCHES = 256


def rows_in_time(series: Sequence[CpuSeries], most: int = MOST_ROWS) -> Int64s:
    """Return latencies in the order in which they were due, int64 ns, shape (n,), n about `most`.

    Overruns stand at their lower bound. Of more rows the first ones of each of 256 stretches of
    equal time are taken, as large a part of each: which are taken does not depend on how long they
    are. Empty without a row.
    """
    count = rows(series)
    if not count:
        return np.empty(0, np.int64)
    if count <= most:
        return _sorted([(cpu, 0, cpu.size) for cpu in series])
    edges = time_blocks(series, _STRETCHES).edges
    stretches = []
    for stretch in range(_STRETCHES):
        parts = []
        for cpu, ends in zip(series, edges, strict=True):
            first, end = int(ends[stretch]), int(ends[stretch + 1])
            parts.append((cpu, first, first + (end - first) * most // count))
        stretches.append(_sorted(parts))
    return np.concatenate(stretches)


def _sorted(parts: Sequence[tuple[CpuSeries, int, int]]) -> Int64s:
    """Return the latencies of rows first to end - 1 of series, by their due times."""
    filled = [part for part in parts if part[2] > part[1]]
    if not filled:
        return np.empty(0, np.int64)
    values = np.concatenate([latencies(*part) for part in filled])
    if len(filled) == 1:
        return values
    due = np.concatenate([cpu.due_of(np.arange(first, end)) for cpu, first, end in filled])
    in_time: Int64s = values[np.argsort(due, kind="stable")]
    return in_time
