"""Which latency is exceeded once in so long a time? A tail fitted over several runs together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.stats.comparison.jackknife import jackknife_p, jackknife_t
from whylate.stats.tail.pareto import Pareto, fit_pareto
from whylate.stats.tail.run_tail import RunTail

Floats = NDArray[np.float64]

#: The least and the most episodes that a tail is fitted to, and how many numbers of them between.
FEWEST, MOST, _FITS = 200, 2000, 5
#: Where the distribution of latencies passes for its tail: one activation in so many.
_TAIL_OF = 1000


@dataclass(frozen=True)
class Level:
    """The latency that an episode exceeds once in every_s on average, over runs like these.

    low_ns, high_ns: its interval. fit: to so many episodes, those above threshold_ns.
    shape_p: the p-value of the shape being the same at higher thresholds.
    """

    level_ns: float
    low_ns: float
    high_ns: float
    fit: Pareto
    episodes: int
    threshold_ns: int
    shape_p: float


@dataclass(frozen=True)
class Excesses:
    """What each run has above one threshold."""

    threshold_ns: int
    by_run_ns: tuple[Floats, ...]

    @property
    def together_ns(self) -> Floats:
        """Of all runs, shape (episodes,)."""
        return np.concatenate(self.by_run_ns)


def most_episodes(runs: Sequence[RunTail]) -> int:
    """Return how many of the latest episodes of all runs together are fitted.

    2000, but no more than one row in 1000, and none that is below the floor of some run.
    """
    floor_ns = max(run.floor_ns for run in runs)
    above = sum(int(np.count_nonzero(run.peaks.latency_ns > floor_ns)) for run in runs)
    return min(MOST, sum(run.rows for run in runs) // _TAIL_OF, above)


def excesses(runs: Sequence[RunTail], episodes: int) -> Excesses:
    """Return what about so many of the latest episodes of all runs exceed a threshold by."""
    peaks = np.sort(np.concatenate([run.peaks.latency_ns for run in runs]))
    threshold_ns = int(peaks[max(0, len(peaks) - 1 - episodes)])
    return Excesses(
        threshold_ns,
        tuple(
            (run.peaks.latency_ns[run.peaks.latency_ns > threshold_ns] - threshold_ns).astype(float)
            for run in runs
        ),
    )


def estimate_return_level(
    runs: Sequence[RunTail], episodes: int, every_s: float, confidence: float = 0.95
) -> Level:
    """Extrapolate: which latency is exceeded once in every_s? Three runs and 200 episodes at least.

    Estimates x where episodes later than x come at a rate of 1 / every_s, in the mean over runs
    like these: threshold + (scale / shape) ((rate every_s)^shape - 1), Coles 2001, equation 4.12,
    from the generalised Pareto fit to the peaks of the latest episodes of all runs together. The
    interval is a delete-one-run jackknife-t on the logarithm of x: run by run the threshold stays,
    shape, scale and rate are estimated anew. Its error is no smaller than that of as many
    independent episodes: ten runs tell their own error poorly.

    Windows that overlap are one episode; episodes in clusters are not merged any further. Keeping
    only the latest of each cluster, as textbooks have it, biases the level where the members of a
    cluster are not alike (Fawcett and Walshaw 2007, Environmetrics 18; of the model of
    calibration.md low by an eighth to a quarter, and 95 % intervals held 62 to 82 %), and
    clusters widen the interval all the same, for they lie within runs. Biased high a little where
    scales differ between runs.

    shape_p: at higher thresholds, down to 200 episodes, the differences of the shape from this
    one's, each by the same jackknife, and by Bonferroni. Not refused here: see
    `whylate.compare.extrapolation` for the gate.
    """
    counts = np.unique(np.geomspace(min(FEWEST, episodes), episodes, _FITS).astype(int)).tolist()
    seconds = [run.seconds for run in runs]
    shapes, lowest = [], excesses(runs, episodes)
    levels: list[float] = []
    for count in counts:
        above = lowest if count == episodes else excesses(runs, count)
        fits = [
            _fitted(above, seconds, left_out, every_s) for left_out in (None, *range(len(runs)))
        ]
        shapes.append([fit.shape for fit, _ in fits])
        levels = [math.log(level_ns) for _, level_ns in fits]
    whole = fit_pareto(lowest.together_ns)
    count = len(lowest.together_ns)
    exceedances = count / sum(seconds) * every_s
    least_error = whole.level_error(exceedances, count) / math.exp(levels[0])
    low, high = jackknife_t(levels[0], levels[1:], seconds, confidence, least_error)
    differences = [np.subtract(shapes_at, shapes[-1]).tolist() for shapes_at in shapes[:-1]]
    p_values = [jackknife_p(difference[0], difference[1:], seconds) for difference in differences]
    return Level(
        level_ns=math.exp(levels[0]),
        low_ns=math.exp(low),
        high_ns=math.exp(high),
        fit=whole,
        episodes=count,
        threshold_ns=lowest.threshold_ns,
        shape_p=min(1.0, len(p_values) * min(p_values, default=1.0)),
    )


def _fitted(
    above: Excesses, seconds: Sequence[float], left_out: int | None, every_s: float
) -> tuple[Pareto, float]:
    """Fit all runs but one; return the fit and the level, ns."""
    kept = [number for number in range(len(seconds)) if number != left_out]
    excess_ns = np.concatenate([above.by_run_ns[number] for number in kept])
    fit = fit_pareto(excess_ns)
    per_s = len(excess_ns) / sum(seconds[number] for number in kept)
    return fit, above.threshold_ns + fit.exceeded_once_in(per_s * every_s)
