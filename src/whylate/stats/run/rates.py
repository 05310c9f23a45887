"""Limits for how often episodes of late activations come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whylate.stats.arrays import Int64s
from whylate.stats.limits import poisson_high, poisson_low
from whylate.stats.run.cpu_series import CpuSeries, observed_s, time_blocks
from whylate.stats.run.dependence import block_count, estimate_dependence
from whylate.stats.run.episodes import episode_starts
from whylate.stats.run.extremes import ExtremalIndex

CONFIDENCE = 0.95
#: Episodes from which their own counts can show clustering, and alone do show it.
_EPISODES_THAT_SHOW, _ENOUGH_EPISODES = 20, 100


@dataclass(frozen=True)
class EpisodeRate:
    """Episodes above a limit: how many, and one-sided limits for their rate per second.

    high_per_s is None where nothing bounds it.
    """

    episodes: int
    low_per_s: float
    high_per_s: float | None


def estimate_episode_rate(
    series: Sequence[CpuSeries],
    limit_ns: int,
    index: ExtremalIndex | None,
    confidence: float = CONFIDENCE,
) -> EpisodeRate:
    """Limit the rate of episodes above limit_ns, each limit at the stated confidence.

    Estimates episodes per second of the run, over all series together. index: that of episodes
    (`extremal_index` with of="episodes"). Garwood's limits for a
    Poisson count, on an effective count: episodes cluster too, so both the count and its limits
    are scaled by the variance of the count over that of independent rows. A hundred episodes
    show it themselves, in blocks of time; fewer take 1 / theta from the extremal index where
    that is more, which makes the limit without any episode that of `no_exceedance`. The limits
    hold for episodes that cluster as those of the run did. Without an extremal index there is
    no upper limit, and the lower one takes all episodes for a single event.
    """
    starts = episode_starts(series, limit_ns)
    episodes = sum(start.size for start in starts)
    seconds = observed_s(series)
    if seconds == 0:
        return EpisodeRate(episodes, 0.0, None)
    if episodes >= _ENOUGH_EPISODES:
        scale = _clustering(series, starts, confidence)
    elif index is not None:
        scale = max(1 / index.cautious, _clustering(series, starts, confidence))
    else:
        scale = max(1, episodes)
    low = scale * poisson_low(episodes / scale, confidence) / seconds
    bounded = episodes >= _ENOUGH_EPISODES or index is not None
    high = scale * poisson_high(episodes / scale, confidence) / seconds if bounded else None
    return EpisodeRate(episodes, low, high)


def _clustering(series: Sequence[CpuSeries], starts: Sequence[Int64s], confidence: float) -> float:
    """Variance of the number of episodes over that of as many independent ones."""
    if sum(start.size for start in starts) < _EPISODES_THAT_SHOW:
        return 1.0
    blocks = time_blocks(series, block_count(max(cpu.size for cpu in series)))
    return 1 / estimate_dependence(blocks.count(starts), blocks.totals).deflate(confidence)
