"""Lanes: the activations of several CPUs side by side on one axis of time.

A stall of the host hits all CPUs at once. Everything here that counts events in time therefore
counts them over all lanes together, in the order in which they were due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Lane(Protocol):
    """Activations of one measuring thread.

    activation: int64, shape (n,), strictly increasing. latency_ns: int64, shape (n,).
    overrun: bool, shape (n,), True where latency_ns is only a lower bound.
    Activation i was due at start_ns + i * interval_ns on a clock that all lanes share.
    """

    @property
    def start_ns(self) -> int:
        """When activation 0 was due, ns."""

    @property
    def interval_ns(self) -> int:
        """Time between two activations, ns, at least 1."""

    @property
    def activation(self) -> Int64s:
        """Number of each activation."""

    @property
    def latency_ns(self) -> Int64s:
        """From due to run, ns; for an overrun at least that."""

    @property
    def overrun(self) -> Bools:
        """True where latency_ns is a lower bound."""


def rows(lanes: Sequence[Lane]) -> int:
    """Activations in all lanes together."""
    return sum(len(lane.latency_ns) for lane in lanes)


def observed_s(lanes: Sequence[Lane]) -> float:
    """Time that was watched, s: the mean over the lanes of rows times interval."""
    if not lanes:
        return 0.0
    return sum(len(lane.latency_ns) * lane.interval_ns for lane in lanes) / len(lanes) / 1e9


@dataclass(frozen=True)
class TimeBlocks:
    """The run cut into blocks of equal time.

    edges: for each lane int64, shape (blocks + 1,): block k holds rows edges[k]:edges[k + 1].
    totals: int64, shape (blocks,): rows of all lanes in each block; may be 0 in a gap.
    """

    edges: tuple[Int64s, ...]
    totals: Int64s

    def count(self, events: Sequence[Bools]) -> Int64s:
        """Events of all lanes in each block, int64, shape (blocks,).

        events: for each lane bool, shape (n,).
        """
        counts = np.zeros(len(self.totals), dtype=np.int64)
        for edges, mask in zip(self.edges, events, strict=True):
            counts += np.diff(np.searchsorted(np.flatnonzero(mask), edges))
        return counts


def time_blocks(lanes: Sequence[Lane], blocks: int) -> TimeBlocks:
    """Cut the time from the first to the last activation of any lane into equal blocks.

    Raises ValueError where no lane has a row.
    """
    filled = [lane for lane in lanes if len(lane.activation)]
    if not filled:
        raise ValueError("time_blocks needs at least one activation")
    first_ns = min(lane.start_ns + int(lane.activation[0]) * lane.interval_ns for lane in filled)
    last_ns = max(lane.start_ns + int(lane.activation[-1]) * lane.interval_ns for lane in filled)
    span_ns = last_ns + 1 - first_ns
    edges_ns = np.array([first_ns + span_ns * k // blocks for k in range(blocks + 1)])
    edges: list[Int64s] = []
    totals = np.zeros(blocks, dtype=np.int64)
    for lane in lanes:
        # The first activation due at or after each edge.
        first = -((lane.start_ns - edges_ns) // lane.interval_ns)
        rows_at = np.searchsorted(lane.activation, first).astype(np.int64)
        edges.append(rows_at)
        totals += np.diff(rows_at)
    return TimeBlocks(tuple(edges), totals)


def positions(lanes: Sequence[Lane], events: Sequence[Bools]) -> Int64s:
    """Places of events in the sequence of all rows ordered by due time, int64, sorted.

    Rows due at the same time are ordered by lane. events: for each lane bool, shape (n,).
    """
    found: list[Int64s] = []
    for own, (lane, mask) in enumerate(zip(lanes, events, strict=True)):
        index = np.flatnonzero(mask)
        due_ns = lane.start_ns + lane.activation[index] * lane.interval_ns
        place = index.astype(np.int64)
        for other, neighbour in enumerate(lanes):
            if other == own:
                continue
            offset_ns = due_ns - neighbour.start_ns
            # Rows of the neighbour that came before: due earlier, or as early in a lower lane.
            if other < own:
                first = offset_ns // neighbour.interval_ns + 1
            else:
                first = -(-offset_ns // neighbour.interval_ns)
            place += np.searchsorted(neighbour.activation, first)
        found.append(place)
    if not found:
        return np.empty(0, dtype=np.int64)
    return np.sort(np.concatenate(found), kind="stable")
