"""Bounds for latencies longer than any that a run observed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whylate.stats.arrays import Int64s
from whylate.stats.limits import poisson_high, student_t
from whylate.stats.run.cpu_series import CpuSeries, observed_s, positions, rows
from whylate.stats.run.episodes import episode_starts
from whylate.stats.run.ordered import Ordered

#: Fewer clusters than this say nothing about the size of the next one.
_CLUSTERS = 10
_EVENTS = 100
_MOST_EVENTS = 2000


@dataclass(frozen=True)
class ExtremalIndex:
    """How late activations come together: 1 alone, 1 / k in clusters of k on average.

    estimate: the intervals estimator. cautious: no more than that, and than the lower 95 %
    limit of 1 / mean cluster size. above_ns: the threshold; clusters: how many there were.
    """

    estimate: float
    cautious: float
    above_ns: int
    clusters: int


def estimate_extremal_index(
    ordered: Ordered, series: Sequence[CpuSeries], of: Literal["rows", "episodes"] = "rows"
) -> ExtremalIndex | None:
    """Estimate the extremal index of all series together at a high threshold.

    of "rows": how late activations cluster, for statements about the fraction of activations.
    of "episodes": how episodes cluster (late activations whose windows overlap are one event
    already), for statements about how often something happens: one stall of 30 ms makes 30 late
    activations at 1 kHz on every CPU, and is one event.

    Estimates theta: of n dependent rows the largest is distributed as that of theta * n
    independent ones. Intervals estimator of Ferro and Segers (2003), JRSS B 65, equation 5,
    over the places of the events in the sequence of all rows by due time, so that a stall
    that hits several CPUs is one cluster; then their declustering, and a Student limit for the
    mean cluster size, because ten clusters estimate it poorly and a theta that is too large
    promises too much. The threshold leaves 1 row in 1000 above it, at least 100 and at most
    2000 rows, and is lowered as far as to 1 row in 20 until 10 clusters are seen; half and a
    quarter as many events are looked at too and the least theta is taken, for unclustered rows
    among the events hide clusters. Biased low by that, and where more extreme latencies cluster
    less than those at the threshold: the bound that uses it then promises too little. Refused
    (None) below 10 clusters.
    """
    n = ordered.n
    most = n // 20
    events = min(most, max(_EVENTS, min(_MOST_EVENTS, n // 1000)))
    while (index := _at(ordered, series, events, of)) is None or index.clusters < _CLUSTERS:
        if events >= most:
            return None
        events = min(most, 2 * events)
    for fewer in (events // 2, events // 4):
        higher = _at(ordered, series, fewer, of) if fewer >= _CLUSTERS else None
        if higher is not None and higher.cautious < index.cautious:
            index = higher
    return index


def intervals_estimator(gaps: Int64s) -> float:
    """Extremal index from the gaps between exceedances, in rows (Ferro and Segers 2003).

    gaps: int64, shape (events - 1,), at least 1 each; needs one gap at least.
    """
    gap = gaps.astype(np.float64)
    if gap.max() <= 2:
        # Their equation for this case supposes that events are frequent. These are rare: one
        # unbroken stretch of them is one cluster.
        return 1 / (len(gap) + 1)
    ratio = 2 * (gap - 1).sum() ** 2 / (len(gap) * ((gap - 1) * (gap - 2)).sum())
    return float(min(1.0, ratio))


def cluster_sizes(place: Int64s, theta: float) -> Int64s:
    """Sizes of the clusters that an extremal index implies (Ferro and Segers 2003, section 4).

    The floor(theta * events) longest gaps separate clusters, fewer where gaps tie.
    place: int64, shape (events,), sorted.
    """
    gaps = np.diff(place)
    separators = min(len(gaps), math.floor(theta * len(place)))
    longest = np.sort(gaps)[::-1]
    while 0 < separators < len(gaps) and longest[separators - 1] == longest[separators]:
        separators -= 1
    if separators == 0:
        return np.array([len(place)])
    starts = np.flatnonzero(gaps >= longest[separators - 1]) + 1
    return np.diff(np.concatenate(([0], starts, [len(place)])))


def _at(
    ordered: Ordered, series: Sequence[CpuSeries], events: int, of: Literal["rows", "episodes"]
) -> ExtremalIndex | None:
    """Extremal index at the threshold with this many rows above it; None below two events."""
    if events < 2:
        return None
    above_ns = ordered.exceeded_by(events)
    place = positions(series, _events(series, above_ns, of))
    if len(place) < 2:
        return None
    estimate = intervals_estimator(np.diff(place))
    sizes = cluster_sizes(place, estimate)
    clusters = len(sizes)
    if clusters == 1:
        return ExtremalIndex(estimate, min(estimate, 1 / len(place)), above_ns, 1)
    spread = float(sizes.std(ddof=1)) / math.sqrt(clusters)
    largest_mean = float(sizes.mean()) + student_t(0.95, clusters - 1) * spread
    return ExtremalIndex(estimate, min(estimate, 1 / largest_mean), above_ns, clusters)


def _events(
    series: Sequence[CpuSeries], above_ns: int, of: Literal["rows", "episodes"]
) -> list[Int64s]:
    """Return, for each series, the rows that count as events, sorted."""
    if of == "rows":
        return [cpu.exceeding(above_ns)[0] for cpu in series]
    return episode_starts(series, above_ns)


@dataclass(frozen=True)
class NoExceedance:
    """Nothing above above_ns was seen, the largest latency of the run. At the confidence:

    fraction: fewer activations than that are above it; theta and effective_n are behind it.
    once_in_s: an episode above it comes less often than that; episode_theta is behind it.
    Refused where both are None: "none" no rows, "clusters" too few clusters for an extremal
    index, "overrun" the largest latency is itself only a lower bound.
    """

    above_ns: int | None
    once_in_s: float | None = None
    episode_theta: float | None = None
    fraction: float | None = None
    theta: float | None = None
    effective_n: float | None = None
    lacking: Literal["none", "clusters", "overrun"] | None = None


def no_exceedance(
    ordered: Ordered,
    series: Sequence[CpuSeries],
    of_rows: ExtremalIndex | None,
    of_episodes: ExtremalIndex | None,
    confidence: float = 0.95,
) -> NoExceedance:
    """Bound how often something later than the latest activation of the run happens.

    With n_eff = theta n effective rows, P(none above x) is about (1 - p)^n_eff for the fraction
    p of activations above x, and the fraction above the run's own maximum obeys the same law:
    p < -ln(1 - confidence) / n_eff, about 3 / n_eff. For episodes the same holds with their own
    extremal index, and time for n: their rate is < 3 / (theta T). Both indices are the cautious
    ones; so the bounds are conservative.

    Overruns count with their lower bound, and the activation that held them up is known in
    full and is longer than they are; where an overrun is the largest value nevertheless, what
    was seen is not known and the bound is refused.
    """
    n = rows(series)
    if n == 0:
        return NoExceedance(None, lacking="none")
    above_ns = ordered.at_least(n - 1)
    known = ordered.known
    if ordered.overruns and (not known.n or known.at(known.n - 1) < above_ns):
        return NoExceedance(above_ns, lacking="overrun")
    if of_rows is None or of_episodes is None:
        return NoExceedance(above_ns, lacking="clusters")
    effective_n = of_rows.cautious * n
    events = poisson_high(0, confidence)
    return NoExceedance(
        above_ns=above_ns,
        once_in_s=observed_s(series) * of_episodes.cautious / events,
        episode_theta=of_episodes.cautious,
        fraction=min(1.0, events / effective_n),
        theta=of_rows.cautious,
        effective_n=effective_n,
    )
