"""How late once in a longer time than was measured? Behind a gate, and at most a decade further."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from whylate.quantities import format_count, format_seconds_down, format_short_ns
from whylate.stats.comparison.heterogeneity import heterogeneity_test
from whylate.stats.limits import fishers_p
from whylate.stats.tail.pareto import LARGEST, second_mode_p
from whylate.stats.tail.return_level import (
    FEWEST,
    Excesses,
    Level,
    RunTail,
    estimate_return_level,
    excesses,
    most_episodes,
)

LABEL = "extrapolated, for the mechanisms seen: a rare one that has not come yet defeats every fit"

RUNS = 10
#: So many times the effective time that was observed.
_REACH = 10
#: Episodes to begin with, so that a shape can be seen to be stable, and how many of them must be
#: clusters of their own.
_EPISODES, _CLUSTERS = 2 * FEWEST, 200
#: Different latencies among them: fewer are the steps of a coarse clock.
_DIFFERENT = 100
#: A lighter tail than this ends just beyond what was seen, and the theory of the fit with it.
_LIGHTEST = -0.5
#: Levels of the checks: a gate that is closed by chance costs an answer, one that is open a lie.
_DRIFT, _SHAPE, _MODE = 0.01, 0.05, 0.01
#: All numbers of runs together: a trend voids the interval, groups of runs widen it besides.
_TREND, _GROUPS = 0.05, 0.01

Outcome = Literal["passed", "failed", "not tried"]


@dataclass(frozen=True)
class Check:
    """One part of the gate. why: where it failed, what is wrong and what would be enough."""

    name: str
    outcome: Outcome
    why: str | None = None


@dataclass(frozen=True)
class Extrapolation:
    """The latency that is exceeded about once in every_s, or why it is refused.

    level_ns, low_ns, high_ns: with its 95 % interval. shape: of the fitted tail; episodes: that it
    was fitted to, those above threshold_ns. All None where the gate is closed. most_s: further than
    these runs allow no statement. one_boot: all runs are from one, and the interval of it.
    """

    every_s: float
    level_ns: int | None
    low_ns: int | None
    high_ns: int | None
    label: str
    most_s: float
    shape: float | None
    episodes: int | None
    threshold_ns: int | None
    one_boot: bool
    checks: tuple[Check, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the gate is closed; empty where it is open."""
        return tuple(check.why for check in self.checks if check.why is not None)


_NAMES = (
    "trusted", "runs", "reach", "episodes", "known", "clock", "steady", "alike", "shape",
    "one mechanism",
)  # fmt: skip


def extrapolate(
    runs: Sequence[RunTail],
    every_s: float,
    distrust: str | None = None,
    *,
    one_boot: bool = False,
) -> Extrapolation:
    """Say how late an episode is about once in every_s, if the gate is open.

    runs: in the order in which they were made. distrust: why they must not be judged. The gate: 10
    runs; no further than ten times the effective time observed (theta times the time); 400 episodes
    of which 200 are clusters of their own; none of them known by a lower bound alone; steady within
    and between runs; a shape that does not move with the threshold; no sign of a second mode. Its
    errors are in docs/explanation/calibration.md; it cannot see what has not come.
    """
    effective_s = sum(run.seconds * (run.theta or 0.0) for run in runs)
    results: dict[str, str | None] = {
        "trusted": distrust,
        "runs": _runs(runs),
        "episodes": _episodes(runs),
        "known": _known(runs),
    }
    if effective_s:
        results["reach"] = _reach(runs, every_s, effective_s)
    level = None
    if results["runs"] is None and results["episodes"] is None:
        above = excesses(runs, most_episodes(runs))
        results["clock"] = _clock(above)
        results["steady"] = _steady(runs)
        results["alike"] = alone = _one_run_alone(runs)
        if alone is None:
            results["alike"] = _alike(runs, above)
            if results["known"] is None and results["clock"] is None:
                level = estimate_return_level(runs, most_episodes(runs), every_s)
                results |= {"shape": _shape(level), "one mechanism": _one_mechanism(above)}
    checks = tuple(
        Check(name, "failed" if results.get(name) else "passed", results[name])
        if name in results
        else Check(name, "not tried")
        for name in _NAMES
    )
    passed = level if all(check.outcome == "passed" for check in checks) else None
    return Extrapolation(
        every_s=every_s,
        level_ns=round(passed.level_ns) if passed else None,
        low_ns=round(passed.low_ns) if passed else None,
        high_ns=round(passed.high_ns) if passed else None,
        label=LABEL,
        most_s=_REACH * effective_s,
        shape=passed.fit.shape if passed else None,
        episodes=passed.episodes if passed else None,
        threshold_ns=passed.threshold_ns if passed else None,
        one_boot=one_boot,
        checks=checks,
    )


def _runs(runs: Sequence[RunTail]) -> str | None:
    # The same recording named twice, or a run in virtual time that was only repeated, is one run.
    different = len({run.peaks.latency_ns.tobytes() or number for number, run in enumerate(runs)})
    if different >= RUNS and different == len(runs):
        return None
    if different < len(runs):
        return (
            f"{len(runs) - different} of {len(runs)} runs are copies of others to the nanosecond: "
            f"{RUNS} different runs are the least, each named once"
        )
    there = f"there are {len(runs)}" if len(runs) != 1 else "there is 1"
    return f"{RUNS} runs are the least; {there}"


def _reach(runs: Sequence[RunTail], every_s: float, effective_s: float) -> str | None:
    seconds = sum(run.seconds for run in runs)
    if every_s > _REACH * effective_s:
        clusters = effective_s < 0.95 * seconds
        worth = f"that these {format_seconds_down(seconds)} are worth, as episodes come in clusters"
        return (
            f"once in {format_seconds_down(every_s)} is further than ten times the "
            f"{format_seconds_down(effective_s)} "
            f"{worth if clusters else 'that were observed'}: ask for "
            f"{format_seconds_down(_REACH * effective_s)} at most, or measure "
            f"{_times(every_s / (_REACH * effective_s))} as long"
        )
    if seconds / every_s > FEWEST:
        return (
            f"what comes once in {format_seconds_down(every_s)} came about "
            f"{seconds / every_s:,.0f} times in "
            "these runs: there is nothing to extrapolate; ask for a longer time"
        )
    return None


def _episodes(runs: Sequence[RunTail]) -> str | None:
    longer = 1.0
    if any(run.theta is None for run in runs) or not runs:
        longer = 3.0
    else:
        episodes = most_episodes(runs)
        theta = sum(run.seconds * (run.theta or 0) for run in runs) / max(
            1e-9, sum(run.seconds for run in runs)
        )
        if episodes < _EPISODES or episodes * theta < _CLUSTERS:
            longer = max(_EPISODES / max(episodes, 1), _CLUSTERS / max(episodes * theta, 1))
    if longer <= 1:
        return None
    return f"late activations came in too few separate episodes: measure {_times(longer)} as long"


def _times(factor: float) -> str:
    """Write a factor of time rounded up: "about 1.5 times"."""
    if factor < 3:
        return f"about {math.ceil(factor * 10) / 10:.1f} times"
    return f"about {math.ceil(factor):,} times"


def _known(runs: Sequence[RunTail]) -> str | None:
    bounded = sum(int(np.count_nonzero(run.peaks.at_least)) for run in runs)
    if not bounded:
        return None
    which = "one" if bounded == 1 else format_count(bounded)
    return (
        f"of {which} of the latest episodes only a lower bound is known (overruns): measure at an "
        "interval longer than the stalls"
    )


def _clock(above: Excesses) -> str | None:
    different = len(np.unique(above.together_ns))
    if different >= _DIFFERENT and above.threshold_ns > 0:
        return None
    return (
        f"above {format_short_ns(above.threshold_ns)} there are only {different} different "
        "latencies: "
        f"{_DIFFERENT} are the least, by a finer clock"
    )


def _steady(runs: Sequence[RunTail]) -> str | None:
    tested = [run.drift_p for run in runs if run.drift_p is not None]
    if len(tested) < len(runs):
        return "a run is too short to show a drift: 10,000 activations on a CPU are the least"
    # One run that drifts much, or many that drift a little: half of the level for each.
    if min(1.0, len(tested) * min(tested)) < _DRIFT / 2 or fishers_p(tested) < _DRIFT / 2:
        return "latency drifted within runs: wait until the board is steady, then measure again"
    return None


def _one_run_alone(runs: Sequence[RunTail]) -> str | None:
    """Look whether one run has most of what is fitted: without it there would be no tail."""
    for episodes in (FEWEST, most_episodes(runs)):
        sizes = [excess_ns.size for excess_ns in excesses(runs, episodes).by_run_ns]
        if 2 * max(sizes) > sum(sizes):
            return (
                "one run alone has most of the latest episodes: find out why, or measure so many "
                "that such runs come again"
            )
    return None


def _alike(runs: Sequence[RunTail], above: Excesses) -> str | None:
    """Look at the median, p99, the rate of late episodes and how late they are, run by run."""
    one_more = [max(0.5, float(excess_ns.size)) for excess_ns in above.by_run_ns]
    numbers: dict[str, list[float]] = {
        "the median": [math.log(max(1, run.p50_ns)) for run in runs],
        "p99": [math.log(max(1, run.p99_ns)) for run in runs],
        "the rate of late episodes": [
            math.log(episodes / run.seconds) for episodes, run in zip(one_more, runs, strict=True)
        ],
        "the length of late episodes": [
            math.log(float(excess_ns.mean()) if excess_ns.size else float(above.together_ns.min()))
            for excess_ns in above.by_run_ns
        ],
    }
    advice = {
        "trend": "{} moved from run to run: wait until it is steady",
        "groups": "runs fall into two groups by {}: find out why, first",
        "outlier": "one run is an outlier by {}: find out why, or measure enough runs to see more "
        "like it",
    }
    for name, logs in numbers.items():
        difference = heterogeneity_test(name, logs, _TREND / len(numbers), _GROUPS / len(numbers))
        if difference is not None:
            return advice[difference.what].format(difference.statistic)
    return None


def _shape(level: Level) -> str | None:
    if level.fit.shape <= _LIGHTEST:
        return (
            f"the fitted tail ends just beyond what was seen (shape {level.fit.shape:.2f}; above "
            f"{_LIGHTEST} is needed): the largest latency is a better guide"
        )
    if level.shape_p < _SHAPE:
        return (
            "the tail's shape depends on where it is taken to begin, so that no fit reaches "
            "further: longer runs see more of the part that matters"
        )
    return None


def _one_mechanism(above: Excesses) -> str | None:
    if any(second_mode_p(above.together_ns, largest) < _MODE for largest in LARGEST):
        return (
            "the latest are later than the others let expect, as if of another mechanism: "
            "`whylate explain` them; it could be fitted once it had come some 2,000 times"
        )
    return None
