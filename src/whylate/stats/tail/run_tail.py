"""What extrapolation needs of one run: the peaks of its late episodes, and how steady it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from whylate.stats.run.cpu_series import CpuSeries, observed_s
from whylate.stats.run.drift import trend_tests
from whylate.stats.run.episodes import Peaks, episode_peaks
from whylate.stats.run.ordered import Ordered

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
