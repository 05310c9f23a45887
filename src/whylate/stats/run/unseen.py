"""Rows that nothing was recorded of, among rows that were: how many of them can have something."""

from __future__ import annotations

import math

import numpy as np

from whylate.stats.arrays import Bools, Int64s
from whylate.stats.limits import binomial_limits


def most_affected(affected: int, sampled: int, unseen: int, confidence: float = 0.95) -> int:
    """Return the most of `unseen` rows that have a property, by a random sample of such rows.

    The upper limit of Clopper and Pearson (1934) for the fraction, of a two-sided interval; all of
    them without a sample. Conservative.
    """
    if sampled <= 0:
        return unseen
    return min(unseen, math.ceil(unseen * binomial_limits(affected, sampled, confidence)[1]))


def lower_largest(latency_ns: Int64s, unseen: Bools, most: int, floor_ns: int) -> Int64s:
    """Return latencies with the `most` largest of the unseen rows at floor_ns.

    latency_ns: int64, shape (n,), any order. unseen: bool, shape (n,). A row below floor_ns keeps
    its latency. This is the least that the upper quantiles can be where `most` rows may be lower.
    """
    lowered = latency_ns.copy()
    rows = np.flatnonzero(unseen & (latency_ns > floor_ns))
    if most <= 0 or not rows.size:
        return lowered
    if most < rows.size:
        rows = rows[np.argpartition(latency_ns[rows], rows.size - most)[rows.size - most :]]
    lowered[rows] = floor_ns
    return lowered
