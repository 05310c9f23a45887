"""Whether latency moved while it was measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.run.cpu_series import CpuSeries, TimeBlocks, latencies, time_blocks
from whylate.stats.run.ordered import Ordered

#: Rows of one series in a block below which neighbouring blocks depend on each other.
_ROWS_A_BLOCK = 200
_FEWEST_BLOCKS, _MOST_BLOCKS = 50, 200
#: A p99 of fewer rows than this is a maximum by another name.
_ROWS_FOR_P99 = 1000
#: Blocks that correlate more than this wander: that is drift.
_STRONGEST = 0.9


@dataclass(frozen=True)
class Trend:
    """A movement of one statistic from the start of the run to its end.

    series: its index, None for all together. level and change: ns, for "late" activations per
    block; change is the median of the last fifth of the blocks less that of the first: a step
    in between shows whole, a steady slope by four fifths, where Theil and Sen's slope gives a
    step in the middle a third too much and an early or late one nothing. p_value: two-sided.
    """

    statistic: Literal["p50", "p99", "late"]
    series: int | None
    level: float
    change: float
    p_value: float


def trend_tests(ordered: Ordered, series: Sequence[CpuSeries]) -> list[Trend]:
    """Test p50 and p99 of every series, and the late activations of all, for a trend in time.

    The run is cut into 50 to 200 blocks of equal time. p99 needs blocks of 1000 rows; late means
    above the p99.9 of the run, at least 100 rows of it. Kendall's test looks for one
    direction: a movement and its return it does not see. Refused (empty list) below 10,000
    rows a series. The p-values are for single tests: whoever reads several has to correct.
    """
    longest = max((cpu.size for cpu in series), default=0)
    if longest < _FEWEST_BLOCKS * _ROWS_A_BLOCK:
        return []
    count = min(_MOST_BLOCKS, max(_FEWEST_BLOCKS, longest // _ROWS_FOR_P99))
    blocks = time_blocks(series, count)
    tests: list[Trend] = []
    for number, (cpu, edges) in enumerate(zip(series, blocks.edges, strict=True)):
        rows_here = cpu.size
        if rows_here >= count * _ROWS_A_BLOCK:
            medians = _block_quantiles(cpu, edges, 0.5)
            tests.append(_trend("p50", number, medians))
        if rows_here >= count * _ROWS_FOR_P99:
            tests.append(_trend("p99", number, _block_quantiles(cpu, edges, 0.99)))
    tests.append(_trend("late", None, _late(ordered, series, blocks)))
    return tests


def kendall_p(values: Floats, *, independent: bool = False) -> float:
    """Two-sided p-value of Kendall's test against time, ties and dependence allowed for.

    values: float64, shape (m,), m at least 4, one a block. Normal approximation with continuity
    correction; the variance allows for the correlation of neighbouring blocks, estimated so
    that a step does not count as one, unless they are `independent`: as runs are supposed to be,
    and as so few of them could not tell. 1.0 where all values are equal.
    """
    m = len(values)
    later = np.sign(values[None, :] - values[:, None])
    score = float(np.triu(later, k=1).sum())
    _, ties = np.unique(values, return_counts=True)
    variance = (m * (m - 1) * (2 * m + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())) / 18
    if variance <= 0:
        return 1.0
    if not independent:
        variance *= _dependence_factor(values)
    z = max(0.0, abs(score) - 1) / math.sqrt(variance)
    return math.erfc(z / math.sqrt(2))


def _dependence_factor(values: Floats) -> float:
    """Variance of Kendall's score over that of independent blocks: (1 + r) / (1 - r).

    r is the correlation of neighbouring blocks, were they autoregressive of first order: then
    neighbouring differences correlate by -(1 - r) / 2. Differences, by rank, are blind to a step
    and to a slope, which must not pass for dependence and so hide themselves.
    """
    _, group, ties = np.unique(np.diff(values), return_inverse=True, return_counts=True)
    if len(ties) == 1:
        return 1.0
    # Equal differences share their mean rank: counts have many.
    rank = (np.cumsum(ties) - (ties + 1) / 2)[group]
    rank -= rank.mean()
    neighbours = float((rank[1:] * rank[:-1]).sum() / (rank * rank).sum())
    r = min(_STRONGEST, max(0.0, 1 + 2 * neighbours))
    return (1 + r) / (1 - r)


def _trend(statistic: Literal["p50", "p99", "late"], series: int | None, values: Floats) -> Trend:
    values = values[~np.isnan(values)]
    if len(values) < _FEWEST_BLOCKS // 2:
        return Trend(statistic, series, math.nan, 0.0, 1.0)
    fifth = len(values) // 5
    change = float(np.median(values[-fifth:]) - np.median(values[:fifth]))
    level = float(values.mean()) if statistic == "late" else float(np.median(values))
    return Trend(statistic, series, level, change, kendall_p(values))


def _block_quantiles(cpu: CpuSeries, edges: Int64s, q: float) -> Floats:
    """Quantile of each block, float64 ns; NaN where a gap left less than half of the rows."""
    fewest = max(1, int(np.diff(edges).max())) / 2
    values = np.full(len(edges) - 1, np.nan)
    for block, (first, end) in enumerate(pairwise(edges.tolist())):
        size = end - first
        if size >= fewest:
            index = math.ceil(q * size) - 1
            values[block] = np.partition(latencies(cpu, first, end), index)[index]
    return values


def _late(ordered: Ordered, series: Sequence[CpuSeries], blocks: TimeBlocks) -> Floats:
    """Late activations per block, scaled to a full block; NaN where a gap left less than half."""
    late = min(ordered.n // 20, max(100, ordered.n // 1000))
    above_ns = ordered.exceeded_by(late)
    counts = blocks.count([cpu.exceeding(above_ns)[0] for cpu in series]).astype(np.float64)
    full = float(blocks.totals.max())
    scarce = blocks.totals < full / 2
    return np.where(scarce, np.nan, counts * full / np.maximum(blocks.totals, 1))
