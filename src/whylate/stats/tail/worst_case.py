"""What several runs together say of how rare something is, and how long it takes to say it.

All of it speaks of episodes: late activations whose windows overlap are one event. Episodes come in
clusters too, and more in some runs than in others; both make a count less sure than a Poisson
count, and are allowed for by a scale: as if so many episodes were one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.limits import poisson_high, poisson_low


@dataclass(frozen=True)
class ObservedRun:
    """One run: its episodes, the observed time, and their extremal index."""

    episodes: int
    seconds: float
    theta: float


@dataclass(frozen=True)
class Rate:
    """Episodes in all runs, and one-sided limits for their rate per second.

    scale: how many episodes count as one.
    """

    episodes: int
    seconds: float
    scale: float
    low_per_s: float
    high_per_s: float


def estimate_pooled_rate(runs: Sequence[ObservedRun], confidence: float = 0.95) -> Rate:
    """Limit the rate of episodes over runs like these; at least one run, watched for some time.

    Garwood's limits (1936, Biometrika 28) on counts divided by a scale: the largest of the mean
    cluster size 1 / theta, over the time of the runs, and of the dispersion of the counts between
    runs (Pearson's chi-square by its degrees of freedom), which is known of three runs at least.
    Without any episode it is the bound of 3 / (theta seconds). Raises ValueError without a run.
    """
    seconds = sum(run.seconds for run in runs)
    if seconds <= 0:
        raise ValueError("nothing was watched")
    episodes = sum(run.episodes for run in runs)
    clusters = seconds / sum(run.seconds * run.theta for run in runs)
    scale = max(1.0, clusters, _dispersion(runs, episodes / seconds))
    return Rate(
        episodes,
        seconds,
        scale,
        scale * poisson_low(episodes / scale, confidence) / seconds,
        scale * poisson_high(episodes / scale, confidence) / seconds,
    )


def _dispersion(runs: Sequence[ObservedRun], per_s: float) -> float:
    if len(runs) < 3 or per_s <= 0:
        return 1.0
    expected = np.array([per_s * run.seconds for run in runs])
    seen = np.array([run.episodes for run in runs], float)
    kept = expected > 0
    square = ((seen - expected)[kept] ** 2 / expected[kept]).sum()
    return float(square / max(1, kept.sum() - 1))


def seconds_to_claim(per_s: float, theta: float = 1.0, confidence: float = 0.95) -> float:
    """Return how long a run without any episode must be to claim a rate below per_s.

    -ln(1 - confidence) / (theta per_s): about three times the claimed interval. theta: the extremal
    index of episodes, 1 where they come one by one.
    """
    return poisson_high(0, confidence) / (theta * per_s)


def more_seconds_to_claim(rate: Rate, per_s: float, confidence: float = 0.95) -> float | None:
    """Return how much longer the same would have to go on to claim a rate below per_s.

    If episodes keep coming at the rate that was seen; None: at that rate it never can.
    """
    seen = rate.episodes / rate.seconds
    if seen >= per_s:
        return None
    seconds = rate.seconds
    while seconds < 1e12:
        scale = rate.scale
        if scale * poisson_high(seen * seconds / scale, confidence) / seconds < per_s:
            return seconds - rate.seconds
        seconds *= 1.02
    return None


def look_confidence(confidence: float, number: int) -> float:
    """Return the confidence of the claim that is made when the number-th episode has come.

    A claim may be made when no episode has come, or else when one has, or two, each after a longer
    time: the chances to be wrong are 6 / (pi number)^2 of all that is allowed, and sum up to it.
    """
    share = 6 / (math.pi * number) ** 2
    return 1 - (1 - confidence) * share


def seconds_until(per_s: float, episodes: int, theta: float, confidence: float = 0.95) -> float:
    """Return after how much time with so many episodes a rate below per_s may be claimed.

    Whoever watches and stops at the first such moment errs with 1 - confidence at most, whatever
    comes: looks_of() shares that out among the numbers of episodes.
    """
    level = look_confidence(confidence, episodes + 1)
    scale = 1 / theta
    return scale * poisson_high(episodes / scale, level) / per_s
