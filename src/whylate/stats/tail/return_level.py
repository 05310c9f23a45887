"""Which latency is exceeded once in so long a time? A tail fitted over several runs together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats
from whylate.stats.limits import student_p, student_t
from whylate.stats.run.cpu_series import CpuSeries, observed_s
from whylate.stats.run.drift import trend_tests
from whylate.stats.run.episodes import Peaks, episode_peaks
from whylate.stats.run.ordered import Ordered
from whylate.stats.tail.pareto import Pareto, fit_pareto

#: The least and the most episodes that a tail is fitted to, and how many numbers of them between.
FEWEST, MOST, _FITS = 200, 2000, 5
#: Where the distribution of latencies passes for its tail: one activation in so many.
_TAIL_OF = 1000
#: As many late activations are kept of a run: twice what all runs together are fitted to.
_KEPT = 4000
#: Fewer activations than this have no tail.
LEAST_ROWS = 20


@dataclass(frozen=True)
class RunTail:
    """One run.

    peaks: of its episodes above floor_ns, which 1 row in 20 exceeds, or 4000 where that is less.
    seconds: observed. theta: extremal index of episodes, None where too few clusters were seen.
    rows: activations. p50_ns, p99_ns: quantiles of all rows, overruns at their bound.
    drift_p: the p-value of the strongest trend within the run, by Bonferroni over those that were
    looked for; None: too short to look for any.
    """

    peaks: Peaks
    floor_ns: int
    seconds: float
    theta: float | None
    rows: int
    p50_ns: int
    p99_ns: int
    drift_p: float | None


def summarize_tail(ordered: Ordered, series: Sequence[CpuSeries], theta: float | None) -> RunTail:
    """Return what is needed of a run with 20 rows at least; ValueError else."""
    if ordered.n < LEAST_ROWS:
        raise ValueError(f"a run without {LEAST_ROWS} activations has no tail")
    floor_ns = ordered.exceeded_by(min(_KEPT, ordered.n // LEAST_ROWS))
    tested = trend_tests(ordered, series)
    return RunTail(
        peaks=episode_peaks(series, floor_ns),
        floor_ns=floor_ns,
        seconds=observed_s(series),
        theta=theta,
        rows=ordered.n,
        p50_ns=ordered.at_least(ordered.n // 2),
        p99_ns=ordered.at_least(ordered.n * 99 // 100),
        drift_p=min(1.0, len(tested) * min(trend.p_value for trend in tested)) if tested else None,
    )


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


def jackknife_error(whole: float, without: Sequence[float], weight: Sequence[float]) -> float:
    """Return the standard error of an estimate from all runs.

    without: the estimate without each run; weight: what each run is worth, its length. Two runs at
    least. Variance of the pseudo-values (Tukey 1958, Annals of Mathematical Statistics 29; Miller
    1974, Biometrika 61), for runs of different weight after Busing, Meijer and van der Leeden
    (1999, Statistics and Computing 9). Whatever makes activations of one run alike is in it: only
    runs must be independent. Biased high by a little; for maxima and single order statistics it is
    wrong, and is not used.
    """
    part = np.asarray(weight, float) / np.sum(weight)
    times = 1 / part
    pseudo = times * whole - (times - 1) * np.asarray(without, float)
    centre = float((part * pseudo).sum())
    return math.sqrt(float(((pseudo - centre) ** 2 / (times - 1)).mean()))


def jackknife_t(
    whole: float,
    without: Sequence[float],
    weight: Sequence[float],
    confidence: float = 0.95,
    least_error: float = 0.0,
) -> tuple[float, float]:
    """Return the limits whole -/+ Student's t times its error, with runs - 1 degrees of freedom.

    least_error: what the error is known not to be below. Ten runs tell their error to a quarter,
    and where they make it too small the estimate is often too small too.
    """
    quantile = student_t(0.5 + confidence / 2, len(without) - 1)
    half = quantile * max(least_error, jackknife_error(whole, without, weight))
    return whole - half, whole + half


def jackknife_p(whole: float, without: Sequence[float], weight: Sequence[float]) -> float:
    """Return the two-sided p-value of the estimate being 0."""
    error = jackknife_error(whole, without, weight)
    if error == 0:
        return 1.0 if whole == 0 else 0.0
    return student_p(whole / error, len(without) - 1)
