"""Episodes: late activations whose windows overlap, on whatever CPU, are one event."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Bools, Int64s
from whylate.stats.run.cpu_series import CpuSeries


@dataclass(frozen=True)
class Peaks:
    """The longest latency of each episode, in the order in which episodes began.

    latency_ns: int64, shape (episodes,). at_least: bool, shape (episodes,), True where only an
    overrun is that long: nothing in the episode that is known in full is as late.
    """

    latency_ns: Int64s
    at_least: Bools


@dataclass(frozen=True)
class _Late:
    """Late rows: as each series has them, and all of them in the order in which they were due.

    sequence: int64, shape (late,): where the rows, series after series, stand in that order.
    latency_ns, overrun, opens: in that order; opens: the row begins an episode.
    """

    rows: list[Int64s]
    sequence: Int64s
    latency_ns: Int64s
    overrun: Bools
    opens: Bools


def episode_starts(series: Sequence[CpuSeries], limit_ns: int) -> list[Int64s]:
    """Rows that open an episode above limit_ns, for each series int64, sorted.

    An episode is a maximal set of late activations, of any series, whose windows from due to run
    overlap. Late: longer than limit_ns, overruns by their lower bound.
    """
    late = _late(series, limit_ns)
    if late is None:
        return [np.empty(0, dtype=np.int64) for _ in series]
    opens = np.empty(len(late.sequence), dtype=bool)
    opens[late.sequence] = late.opens
    parts = np.split(opens, np.cumsum([index.size for index in late.rows])[:-1])
    return [index[part] for index, part in zip(late.rows, parts, strict=True)]


def episode_peaks(series: Sequence[CpuSeries], limit_ns: int) -> Peaks:
    """Return the peaks of the episodes above limit_ns.

    An overrun counts with its lower bound; the activation that held it up is in the same episode,
    and longer, unless it was not recorded.
    """
    late = _late(series, limit_ns)
    if late is None:
        return Peaks(np.empty(0, dtype=np.int64), np.empty(0, dtype=bool))
    first = np.flatnonzero(late.opens)
    peak_ns = np.maximum.reduceat(late.latency_ns, first)
    known_ns = np.maximum.reduceat(np.where(late.overrun, limit_ns, late.latency_ns), first)
    return Peaks(peak_ns, known_ns < peak_ns)


def _late(series: Sequence[CpuSeries], limit_ns: int) -> _Late | None:
    """Find late rows and those of them that open an episode; None where none is late."""
    late = [cpu.exceeding(limit_ns) for cpu in series]
    rows = [index for index, _, _ in late]
    if not any(index.size for index in rows):
        return None
    due_ns = np.concatenate([cpu.due_of(index) for cpu, index in zip(series, rows, strict=True)])
    latency_ns = np.concatenate([latency for _, latency, _ in late])
    overrun = np.concatenate([censored for _, _, censored in late])
    sequence = np.argsort(due_ns, kind="stable")
    due_ns, latency_ns = due_ns[sequence], latency_ns[sequence]
    over_ns = np.maximum.accumulate(due_ns + np.maximum(latency_ns, 0))
    opens = np.concatenate(([True], due_ns[1:] > over_ns[:-1]))
    return _Late(rows, sequence, latency_ns, overrun[sequence], opens)
