"""The part of the late time that goes away without a cause, from runs with it and without it.

The preventable share is 1 - E_off / E_on, with E the mean over runs of the time that a run's late
episodes took beyond control activations. It holds for boards and loads like these. Where that time
was spent is the located share.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.limits import poisson_high, student_p, student_t

#: With so few episodes left, counting them is what is uncertain.
_FEW = 10


@dataclass(frozen=True)
class LateTime:
    """What was late in runs of one side, made in rounds with those of the other.

    excess: of each run over its control activations, in any unit, float64, shape (rounds,).
    episodes: their number in each run, int64, shape (rounds,).
    """

    excess: Floats
    episodes: Int64s


@dataclass(frozen=True)
class PreventableShare:
    """1 - off / on; low and high are None where the runs do not bound it."""

    share: float
    low: float | None
    high: float | None


def estimate_preventable_share(
    on: LateTime, off: LateTime, confidence: float = 0.95
) -> PreventableShare:
    """Return the preventable share with its interval; two rounds at least, ValueError else.

    A ratio of means of pairs, by Fieller's theorem (1954, JRSS B 16), which supposes means that
    are about normal. Where few or no episodes are left, their spread shows little: the interval
    then reaches at least as far as Garwood's limits (1936, Biometrika 28) on so many episodes do,
    each as long as those of the other side are on average.
    """
    n = len(on.excess)
    if n < 2 or len(off.excess) != n:
        raise ValueError("a share needs two rounds at least, with a run of both sides in each")
    mean_on, mean_off = float(on.excess.mean()), float(off.excess.mean())
    if mean_on <= 0:
        raise ValueError("nothing was late with the cause on: there is no share of it")
    ratio = mean_off / mean_on
    share = 1 - ratio
    low, high = _fieller(on.excess, off.excess, student_t(0.5 + confidence / 2, n - 1))
    if low is None or high is None:
        return PreventableShare(share, None, None)
    left, there = int(off.episodes.sum()), max(int(on.episodes.sum()), 1)
    if left <= _FEW:
        high = max(high, poisson_high(left, 0.5 + confidence / 2) / there)
    return PreventableShare(share, 1 - high, 1 - low)


def _fieller(on: Floats, off: Floats, t: float) -> tuple[float | None, float | None]:
    """Return limits of mean(off) / mean(on) of pairs; None where the first may be zero."""
    n = len(on)
    x, y = float(on.mean()), float(off.mean())
    spread = np.cov(on, off, ddof=1) / n
    vx, vy, both = float(spread[0, 0]), float(spread[1, 1]), float(spread[0, 1])
    a, b, c = x * x - t * t * vx, x * y - t * t * both, y * y - t * t * vy
    if a <= 0:
        return None, None
    root = math.sqrt(max(b * b - a * c, 0.0))
    return (b - root) / a, (b + root) / a


def paired_t_p(on: Floats, off: Floats) -> float:
    """Return the p-value of Student's paired test, two-sided; shapes (rounds,), two at least."""
    mean, error = _mean_fall(on, off)
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return student_p(mean / error, len(on) - 1)


def decreases(on: Floats, off: Floats, confidence: float = 0.95) -> bool:
    """Whether something is surely less when it is off: Student's paired test, one-sided.

    float64, shapes (rounds,), two at least.
    """
    mean, error = _mean_fall(on, off)
    return mean > student_t(confidence, len(on) - 1) * error


def _mean_fall(on: Floats, off: Floats) -> tuple[float, float]:
    falls = on - off
    return float(falls.mean()), float(falls.std(ddof=1)) / math.sqrt(len(falls))
