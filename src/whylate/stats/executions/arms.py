"""What a treatment before executions changes, from executions that are treated by chance.

An execution is drawn, and then treated or of the placebo, before it begins. So both arms have the
same executions but for chance, at the same times. Longer is what takes more than twice the median
of the placebo; the excess of an arm is what its longer executions take beyond the mean of the
placebo's others, divided by all executions of the arm.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from whylate.stats.arrays import Bools, Floats, Int64s
from whylate.stats.comparison.factorial import holm
from whylate.stats.executions.parts import BLOCKS, TIMES

RESAMPLES = 2000
#: Draws in memory at a time.
_CHUNK = 50
#: Executions of an arm of whose median the interval is.
_MOST_RANKED = 20_000
#: Longer executions of which it is drawn anew in which arm they are.
_MOST_REDRAWN = 20_000
_ALPHA = 0.05
#: With fewer blocks that have executions, or longer ones, nothing says how they vary.
FEWEST_BLOCKS = 8
_TAIL = 0.025


@dataclass(frozen=True)
class Arm:
    """Executions of an arm: when each began and how long it took; int64, shape (n,)."""

    began_ns: Int64s
    duration_ns: Int64s


@dataclass(frozen=True)
class Bounded:
    """An estimate with its interval at 95 %; None where nothing bounds it."""

    value: float
    low: float | None
    high: float | None

    def with_zero(self) -> Bounded:
        """Return the same with an interval that has 0 in it."""
        if self.low is None or self.high is None:
            return self
        return Bounded(self.value, min(self.low, 0.0), max(self.high, 0.0))


@dataclass(frozen=True)
class ArmFigures:
    """Durations of an arm: their median, how many are longer, and the excess, ns an execution."""

    n: int
    median_ns: float
    longer: int
    excess_ns: float


@dataclass(frozen=True)
class Comparison:
    """A treated arm against the placebo's.

    limit_ns: longer executions take more. median_ns: treated minus placebo. excess_ns: the same of
    the excess. share: 1 - treated / placebo of the excess, which goes away by the treatment; None
    where the placebo has no excess.
    """

    limit_ns: float
    placebo: ArmFigures
    treated: ArmFigures
    median_ns: Bounded
    excess_ns: Bounded
    share: Bounded | None


def compare_arms(placebo: Arm, treated: Arm, seed: int) -> Comparison:
    """Return what the treatment changes; both arms have an execution, ValueError else.

    Intervals are percentiles of a bootstrap over BLOCKS blocks of time, those of both arms drawn
    together, conditional on the limit, and None with fewer than FEWEST_BLOCKS blocks that have any.
    Where few executions are longer they are too narrow. So there is a change only where drawing the
    arms anew says so, too, at 5 % for both figures (Holm): that is exact however executions depend
    on each other, for which is treated does not depend on them. Else intervals reach to 0.
    """
    if not placebo.duration_ns.size or not treated.duration_ns.size:
        raise ValueError("both arms need an execution")
    limit = TIMES * float(np.median(placebo.duration_ns))
    usual = placebo.duration_ns[placebo.duration_ns <= limit]
    mean = float(usual.mean())
    rng = np.random.default_rng(seed)
    began = np.concatenate((placebo.began_ns, treated.began_ns))
    edges = np.linspace(began.min(), began.max() + 1, BLOCKS + 1)[1:-1]
    sides = [_Side.cut(arm, edges, limit, mean, rng) for arm in (placebo, treated)]
    undrawn = np.ones((1, BLOCKS))
    median = _Draws(*(side.medians(undrawn) for side in sides))
    excess = _Draws(*(side.excess(undrawn) for side in sides))
    draws_of_median, draws_of_excess = [], []
    for _ in range(0, RESAMPLES, _CHUNK):
        weights = rng.multinomial(BLOCKS, np.full(BLOCKS, 1 / BLOCKS), _CHUNK).astype(float)
        draws_of_median.append(_Draws(*(side.medians(weights) for side in sides)))
        draws_of_excess.append(_Draws(*(side.excess(weights) for side in sides)))
    filled = min(int(np.count_nonzero(side.count)) for side in sides)
    with_longer = min(filled, int(np.count_nonzero(sides[0].over + sides[1].over)))
    has_blocks, has_longer = filled >= FEWEST_BLOCKS, with_longer >= FEWEST_BLOCKS
    p = holm(np.array([_median_p(placebo, treated), _excess_p(placebo, treated, limit, mean, rng)]))
    is_moved, is_shifted = (p <= _ALPHA).tolist()
    result = Comparison(
        limit_ns=limit,
        placebo=_figures(placebo, limit, median.placebo, excess.placebo),
        treated=_figures(treated, limit, median.treated, excess.treated),
        median_ns=_bounded(median.change, draws_of_median, "change", is_known=has_blocks),
        excess_ns=_bounded(excess.change, draws_of_excess, "change", is_known=has_longer),
        share=_bounded(excess.share, draws_of_excess, "share", is_known=has_longer)
        if excess.placebo[0] > 0
        else None,
    )
    if not is_moved:
        result = replace(result, median_ns=result.median_ns.with_zero())
    if not is_shifted:
        share = result.share.with_zero() if result.share is not None else None
        result = replace(result, excess_ns=result.excess_ns.with_zero(), share=share)
    return result


def _median_p(placebo: Arm, treated: Arm) -> float:
    """Return the p-value of Mood's median test (1954), by its normal approximation."""
    together = np.concatenate((placebo.duration_ns, treated.duration_ns))
    middle = np.median(together)
    n, m = together.size, treated.duration_ns.size
    above = int(np.count_nonzero(together > middle))
    spread = m * (n - m) / n * above * (n - above) / n / max(1, n - 1)
    if not spread:
        return 1.0
    off = abs(int(np.count_nonzero(treated.duration_ns > middle)) - m * above / n)
    return math.erfc(max(0.0, off - 0.5) / math.sqrt(2 * spread))


def _excess_p(
    placebo: Arm, treated: Arm, limit: float, mean: float, rng: np.random.Generator
) -> float:
    """Return the p-value of the excess of longer executions, by drawing their arms anew."""
    sides = [arm.duration_ns[arm.duration_ns > limit] - mean for arm in (placebo, treated)]
    longer = np.concatenate(sides)
    is_treated: Bools = np.arange(longer.size) >= sides[0].size
    if longer.size > _MOST_REDRAWN:
        rows = rng.choice(longer.size, _MOST_REDRAWN, replace=False)
        longer, is_treated = longer[rows], is_treated[rows]
    n, m = placebo.duration_ns.size, treated.duration_ns.size
    # What an execution adds to the difference of both means where it is treated, and where not.
    weights = np.where(is_treated, 1 / m, -1 / n)
    seen = abs(float(longer @ weights))
    as_far = 1
    for _ in range(0, RESAMPLES, _CHUNK):
        redrawn = rng.random((_CHUNK, longer.size)) < m / (m + n)
        drawn = np.where(redrawn, 1 / m, -1 / n) @ longer
        as_far += int(np.count_nonzero(np.abs(drawn) >= seen * (1 - 1e-12)))
    return as_far / (RESAMPLES + 1)


def median_of_bins(lows: Int64s, highs: Int64s, counts: Int64s) -> Bounded:
    """Return the median of values that are counted in bins, ValueError of none.

    lows, highs: of each bin, in ascending order, int64, shape (bins,); counts: at least 1 each. The
    interval is from the low end of one bin to the high end of another: those of the ranks that the
    median lies between in 95 % of samples (binomial, by its normal approximation).
    """
    n = int(counts.sum())
    if not n:
        raise ValueError("no value is counted")
    ends = np.cumsum(counts)
    ranks = n / 2 + np.array([-1, 0, 1]) * 1.96 * np.sqrt(n) / 2
    low, middle, high = np.searchsorted(ends, np.clip(ranks, 0, n - 1), "right").tolist()
    return Bounded(
        (int(lows[middle]) + int(highs[middle])) / 2, float(lows[low]), float(highs[high])
    )


@dataclass(frozen=True)
class _Draws:
    """A figure of both arms, float64, shape (draws,); NaN where a draw has no execution."""

    placebo: Floats
    treated: Floats

    @property
    def change(self) -> Floats:
        return self.treated - self.placebo

    @property
    def share(self) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.placebo > 0, 1 - self.treated / self.placebo, np.nan)


@dataclass(frozen=True)
class _Side:
    """An arm by blocks, shape (BLOCKS,), and durations in order with their blocks, shape (n,)."""

    count: Floats
    over: Floats
    beyond: Floats
    ranked: Floats
    block: NDArray[np.int64]

    @classmethod
    def cut(
        cls, arm: Arm, edges: Floats, limit: float, mean: float, rng: np.random.Generator
    ) -> _Side:
        block = np.searchsorted(edges, arm.began_ns, "right")
        is_longer = arm.duration_ns > limit
        beyond = np.where(is_longer, arm.duration_ns - mean, 0.0)
        rows = np.arange(block.size)
        if rows.size > _MOST_RANKED:
            rows = rng.choice(rows, _MOST_RANKED, replace=False)
        rows = rows[np.argsort(arm.duration_ns[rows], kind="stable")]
        return cls(
            np.bincount(block, minlength=BLOCKS).astype(float),
            np.bincount(block, is_longer, BLOCKS).astype(float),
            np.bincount(block, beyond, BLOCKS).astype(float),
            arm.duration_ns[rows].astype(float),
            block[rows].astype(np.int64),
        )

    def medians(self, weights: Floats) -> Floats:
        """Return the median of each draw; weights: how often each block was drawn."""
        total = np.cumsum(weights[:, self.block], axis=1)
        place = (total < total[:, -1:] / 2).sum(axis=1)
        return np.where(
            total[:, -1] > 0, self.ranked[np.minimum(place, self.ranked.size - 1)], np.nan
        )

    def excess(self, weights: Floats) -> Floats:
        """Return the excess of each draw, ns an execution."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return (weights @ self.beyond) / (weights @ self.count)


def _figures(arm: Arm, limit: float, median: Floats, excess: Floats) -> ArmFigures:
    longer = int(np.count_nonzero(arm.duration_ns > limit))
    return ArmFigures(arm.duration_ns.size, float(median[0]), longer, float(excess[0]))


def _bounded(estimate: Floats, draws: Sequence[_Draws], name: str, *, is_known: bool) -> Bounded:
    value = float(estimate[0])
    drawn = np.concatenate([getattr(each, name) for each in draws])
    drawn = drawn[np.isfinite(drawn)]
    if not is_known or not drawn.size:
        return Bounded(value, None, None)
    low, high = np.quantile(drawn, [_TAIL, 1 - _TAIL]).tolist()
    return Bounded(value, low, high)
