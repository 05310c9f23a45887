"""Episodes: late activations whose windows overlap, on whatever CPU, are one event."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whylate.stats.lanes import Int64s, Lane


def episode_starts(lanes: Sequence[Lane], limit_ns: int) -> list[Int64s]:
    """Rows that open an episode above limit_ns, for each lane int64, sorted.

    An episode is a maximal set of late activations, of any lane, whose windows from due to run
    overlap. Late: longer than limit_ns, overruns by their lower bound.
    """
    late = [np.flatnonzero(lane.latency_ns > limit_ns) for lane in lanes]
    if not any(index.size for index in late):
        return late
    due_ns = np.concatenate([lane.due_of(index) for lane, index in zip(lanes, late, strict=True)])
    latency_ns = np.concatenate(
        [lane.latency_ns[index] for lane, index in zip(lanes, late, strict=True)]
    )
    sequence = np.argsort(due_ns, kind="stable")
    due_ns, latency_ns = due_ns[sequence], latency_ns[sequence]
    over_ns = np.maximum.accumulate(due_ns + np.maximum(latency_ns, 0))
    opens_sorted = np.concatenate(([True], due_ns[1:] > over_ns[:-1]))
    opens = np.empty(len(sequence), dtype=bool)
    opens[sequence] = opens_sorted
    parts = np.split(opens, np.cumsum([index.size for index in late])[:-1])
    return [index[part] for index, part in zip(late, parts, strict=True)]
