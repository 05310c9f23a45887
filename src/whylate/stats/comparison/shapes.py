"""Which runs have the same shape of distribution, whatever their scale? Groups, with p-values.

Two runs have one shape where one is the other, stretched. They are scaled onto each other by the
median ratio of nine percentiles of their bodies: that of their medians alone would jump where a
body has two peaks. They are tested by permutation: both are cut into blocks of equally many rows in
order of time, the blocks are dealt out anew, each two sides are scaled onto each other again, and
the largest standardised difference of a log quantile is compared with the real one (Westfall and
Young 1993, single-step maxT). A difference of a quantile that does not matter, below a factor of
MATTERS or within a step of both clocks, is none. P-values of all pairs are adjusted by Holm (1979,
Scandinavian Journal of Statistics 6), so that where all shapes are one any pair differs in at most
5 % of sets of runs. Groups are by complete linkage: within a group no pair differs.

The null hypothesis is of these runs: blocks of both are exchangeable. Where a run moves more slowly
than a block it is not, and runs of the same code differ by more than their blocks. Runs that differ
from boot to boot have different shapes, and are distinguished: that is what is asked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from whylate.stats.arrays import Bools, Floats, Int64s
from whylate.stats.comparison.factorial import holm

#: A quantile that differs by a smaller factor is of no interest.
MATTERS = 1.05
#: Pairs differ at this level, adjusted for all of them.
LEVEL = 0.05
#: Blocks of the shortest run, and of any other at the most: a longer one shows little more.
BLOCKS, MOST_BLOCKS = 16, 128
#: Rows that a block has at least.
LEAST_ROWS = 50
#: More runs make too many pairs for the permutations to distinguish.
MOST_RUNS = 16
#: Permutations of a pair, and more where there are many pairs: so many for each.
_PERMUTATIONS, _FOR_EACH = 1_999, 40
#: By the median ratio of these quantiles runs are scaled onto each other.
_SCALED_BY = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
#: Quantiles that are looked at, each with so many rows beyond it in both runs.
QUANTILES = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999)
_BEYOND = 20
#: Bins of a shape: so many in a factor of two, from a 64th of the median on.
_PARTS = 48
_LOWEST, _HIGHEST = -6, 18
#: Between these quantiles steps of the clock are looked for.
_BODY = (0.1, 0.9)


@dataclass(frozen=True)
class Difference:
    """How the shapes of two runs differ; first, second: their places.

    p: that they do in any quantile that matters, by itself; adjusted: for all pairs. quantile:
    which of them stands out most; 0 where none matters. ratio: that of the second run over that of
    the first, scaled onto each other.
    """

    first: int
    second: int
    p: float
    adjusted: float
    quantile: float
    ratio: float


@dataclass(frozen=True)
class ShapeGroups:
    """groups: places of runs, each in one group, the first ones first. pairs: of all runs."""

    groups: list[list[int]]
    pairs: list[Difference]


def rows_needed() -> int:
    """Return how many rows a run must have."""
    return BLOCKS * LEAST_ROWS


def group_shapes(runs: Sequence[Int64s], rng: np.random.Generator) -> ShapeGroups:
    """Group runs whose shapes cannot be told from each other.

    runs: values of each in order of time, int64, any unit, shape (n,), at least rows_needed() of
    them; not more than MOST_RUNS runs. Raises ValueError for others.
    """
    if len(runs) > MOST_RUNS:
        raise ValueError(f"{len(runs)} runs are more than {MOST_RUNS}")
    if any(run.size < rows_needed() for run in runs):
        raise ValueError(f"a run has fewer than {rows_needed()} rows")
    if not runs:
        return ShapeGroups([], [])
    rows = min(run.size for run in runs) // BLOCKS
    shapes = [_count_blocks(run, rows, rng) for run in runs]
    places = list(combinations(range(len(runs)), 2))
    permutations = max(_PERMUTATIONS, _FOR_EACH * len(places) - 1)
    tested = [_test_pair(place, rows, shapes, permutations, rng) for place in places]
    adjusted = holm(np.array([pair.p for pair in tested])).tolist()
    pairs = [
        Difference(pair.first, pair.second, pair.p, p, pair.quantile, pair.ratio)
        for pair, p in zip(tested, adjusted, strict=True)
    ]
    return ShapeGroups(_link(len(runs), pairs), pairs)


@dataclass(frozen=True)
class _Shape:
    """Values by their ratio to the median, float32, shape (blocks, bins); step: of the clock."""

    counts: NDArray[np.float32]
    step: float


def _count_blocks(values: Int64s, rows: int, rng: np.random.Generator) -> _Shape:
    """Count values in blocks.

    A clock's step would move whole quantiles: each value lies anywhere in its step.
    """
    step = _step_of(values)
    spread = values + step * (rng.random(values.size) - 0.5)
    logs = np.log2(np.maximum(spread, step / 2))
    blocks = values.size // rows
    median = float(np.median(logs))
    bins = np.floor((logs - median - _LOWEST) * _PARTS).astype(np.int64)
    np.clip(bins, 0, (_HIGHEST - _LOWEST) * _PARTS - 1, out=bins)
    kept = np.unique(np.linspace(0, blocks - 1, min(blocks, MOST_BLOCKS)).round().astype(np.int64))
    size = (_HIGHEST - _LOWEST) * _PARTS
    counts = np.empty((kept.size, size), np.float32)
    for place, block in enumerate(kept.tolist()):
        counts[place] = np.bincount(bins[block * rows : (block + 1) * rows], minlength=size)
    return _Shape(counts, step / 2**median)


def _step_of(values: Int64s) -> float:
    """Return the step of the clock, at least 1: the median gap of values in the body."""
    low, high = np.quantile(values, _BODY)
    distinct = np.unique(values[(values >= low) & (values <= high)])
    return max(1.0, float(np.median(np.diff(distinct)))) if distinct.size > 1 else 1.0


def _test_pair(
    places: tuple[int, int],
    rows: int,
    shapes: Sequence[_Shape],
    permutations: int,
    rng: np.random.Generator,
) -> Difference:
    first, second = places
    ours, theirs = shapes[first].counts, shapes[second].counts
    least = rows * min(len(ours), len(theirs))
    wanted = [q for q in QUANTILES if least * min(q, 1 - q) >= _BEYOND]
    apart = _apart(ours.sum(axis=0)[None], theirs.sum(axis=0)[None], ()).scale[0]
    moved = np.roll(theirs, -round(apart * _PARTS), axis=1)
    counts = np.concatenate((ours, moved))
    filled = np.flatnonzero(counts.any(axis=0))
    counts = counts[:, int(filled[0]) : int(filled[-1]) + 1]
    labels = np.zeros((permutations + 1, len(counts)), np.float32)
    order = rng.random(labels.shape).argsort(axis=1)
    order[0] = np.arange(len(counts))
    np.put_along_axis(labels, order[:, : len(ours)], 1.0, axis=1)
    sides = labels @ counts
    difference = _apart(sides, counts.sum(axis=0) - sides, wanted).quantiles
    spread = difference.std(axis=0)
    scores = np.abs(difference) / np.where(spread > 0, spread, np.inf)
    least_ratio = max(MATTERS, 1 + shapes[first].step + shapes[second].step)
    matters: Bools = np.abs(difference[0]) >= math.log2(least_ratio)
    if not matters.any():
        return Difference(first, second, 1.0, 1.0, 0.0, 1.0)
    most = int(np.where(matters, scores[0], -1.0).argmax())
    beyond = int(np.count_nonzero(scores.max(axis=1) >= scores[0, most] * (1 - 1e-6)))
    ratio = float(np.exp2(difference[0, most]))
    return Difference(first, second, beyond / (permutations + 1), 1.0, wanted[most], ratio)


@dataclass(frozen=True)
class _Apart:
    """How far second sides lie from first ones, octaves.

    scale: shape (rows,). quantiles: shape (rows, wanted), scaled onto each other.
    """

    scale: Floats
    quantiles: Floats


def _apart(
    first: NDArray[np.float32], second: NDArray[np.float32], wanted: Sequence[float]
) -> _Apart:
    """Hold sides against each other; both are counts by bin, shape (rows, bins)."""
    asked = (*_SCALED_BY, *wanted)
    difference = _log_quantiles(second, asked) - _log_quantiles(first, asked)
    scale: Floats = np.median(difference[:, : len(_SCALED_BY)], axis=1)
    return _Apart(scale, difference[:, len(_SCALED_BY) :] - scale[:, None])


def _log_quantiles(counts: NDArray[np.float32], wanted: Sequence[float]) -> Floats:
    """Return quantiles of counts by bin, octaves, shape (rows, wanted)."""
    ends = np.cumsum(counts, axis=1, dtype=np.float64)
    total = ends[:, -1]
    wide = counts.shape[1]
    # One search in all rows: each begins above the end of its predecessor.
    offset = np.concatenate((np.zeros(1), np.cumsum(total + 1)[:-1]))
    flat = (ends + offset[:, None]).ravel()
    rows = np.arange(len(counts))
    result = np.empty((len(counts), len(wanted)))
    for place, q in enumerate(wanted):
        aim = q * total
        bins = np.clip(np.searchsorted(flat, aim + offset) - rows * wide, 0, wide - 1)
        inside = counts[rows, bins]
        before = ends[rows, bins] - inside
        result[:, place] = (bins + (aim - before) / np.maximum(inside, 1)) / _PARTS
    return result


def _link(count: int, pairs: Sequence[Difference]) -> list[list[int]]:
    """Return groups by complete linkage: the two that are nearest are joined while none differs."""
    p = np.ones((count, count))
    for pair in pairs:
        p[pair.first, pair.second] = p[pair.second, pair.first] = pair.adjusted
    groups = [[number] for number in range(count)]
    while len(groups) > 1:
        nearest, (ours, theirs) = max(
            (float(p[np.ix_(groups[i], groups[j])].min()), (i, j))
            for i in range(len(groups))
            for j in range(i + 1, len(groups))
        )
        if nearest <= LEVEL:
            break
        groups[ours] = sorted(groups[ours] + groups.pop(theirs))
    return sorted(groups)
