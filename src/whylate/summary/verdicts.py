"""The verdict on each requirement, and on all together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from whylate.quantities import format_count, format_exact_ns, format_seconds_down, format_short_ns
from whylate.recording.samples import Activations
from whylate.stats.run.cpu_series import observed_s
from whylate.stats.run.extremes import ExtremalIndex
from whylate.stats.run.rates import CONFIDENCE, estimate_episode_rate
from whylate.stats.tail.worst_case import look_confidence
from whylate.summary.model import Estimate, Figures, Requirement, Trust
from whylate.summary.requirements import Demand, LatencyLimit, RateLimit
from whylate.summary.trust import Assessment

Verdict = Literal["pass", "fail", "inconclusive", "no verdict"]


@dataclass(frozen=True)
class Evidence:
    """What requirements are judged by: figures and samples of all CPUs together.

    index: the extremal index of episodes. until_ns: the run was to end once
    the rate of latencies above it was bounded. has_all_rows: none that was seen is left out.
    """

    together: Figures
    series: Sequence[Activations]
    index: ExtremalIndex | None
    assessment: Assessment
    until_ns: int | None = None
    has_all_rows: bool = True
    counted: str = "activations"


def judge(demand: Demand, evidence: Evidence) -> Requirement:
    """Judge one requirement by an interval, over all CPUs together.

    pass and fail need the whole interval on one side of the limit; otherwise inconclusive. A run
    without a verdict passes nothing; it fails only a maximum that was seen to be exceeded, and
    only where the measuring itself was in order.
    """
    if isinstance(demand, RateLimit):
        verdict, why = _rate(demand, evidence)
    elif demand.statistic == "max":
        verdict, why = _maximum(demand, evidence)
    else:
        verdict, why = _quantile(demand, evidence.together.latency_ns[demand.statistic])
    of_rare = isinstance(demand, RateLimit) or demand.statistic == "max"
    if of_rare and verdict != "fail" and not evidence.has_all_rows:
        return Requirement(
            demand.text, "no verdict", "Only some executions have a row: measure with --one-in 1."
        )
    trust = evidence.assessment.trust
    if trust.verdict != "ok":
        of_maximum = isinstance(demand, LatencyLimit) and demand.statistic == "max"
        if not (verdict == "fail" and of_maximum and evidence.assessment.late_is_late):
            return Requirement(
                demand.text, "no verdict", f"The run has no verdict: {trust.reasons[0]}"
            )
        why += " What the run lost cannot undo that."
    return Requirement(demand.text, verdict, why)


def overall(requirements: Sequence[Requirement], trust: Trust) -> Verdict:
    """Join all requirements and the run's trust into one verdict, for the exit status.

    A failed requirement decides; then a run without a verdict; then what is inconclusive. With
    no requirement a trusted run passes.
    """
    verdicts = [requirement.verdict for requirement in requirements]
    if "fail" in verdicts:
        return "fail"
    if trust.verdict != "ok" or "no verdict" in verdicts:
        return "no verdict"
    return "inconclusive" if "inconclusive" in verdicts else "pass"


def _quantile(demand: LatencyLimit, estimate: Estimate) -> tuple[Verdict, str]:
    name = demand.statistic
    if estimate.value is None or estimate.low is None:
        reason = estimate.reason or "it was refused"
        return "inconclusive", f"{name} is not known: {reason}."
    sign = "at least " if estimate.at_least else ""
    value = f"{name} is {sign}{format_short_ns(estimate.value)}"
    if estimate.high is not None and demand.holds(estimate.high):
        high = format_short_ns(estimate.high)
        return "pass", f"{value}, and with 95 % confidence at most {high}."
    if not demand.holds(estimate.low):
        low = format_short_ns(estimate.low)
        return "fail", f"{value}, and with 95 % confidence at least {low}."
    if estimate.high is None:
        return "inconclusive", f"{value} with no upper limit: {estimate.reason or 'overruns'}."
    return "inconclusive", (
        f"{value}, and with 95 % confidence between {format_short_ns(estimate.low)} and "
        f"{format_short_ns(estimate.high)}: measure longer."
    )


def _maximum(demand: LatencyLimit, evidence: Evidence) -> tuple[Verdict, str]:
    limit_ns = demand.limit_ns
    longest = evidence.together.latency_ns["max"]
    if longest.value is None:
        return "inconclusive", f"No {evidence.counted[:-1]} was recorded."
    if not demand.holds(longest.value):
        sign = "at least " if longest.at_least else ""
        late = "was late by" if evidence.counted == "activations" else "took"
        value = f"{sign}{format_short_ns(longest.value)}"
        return "fail", f"An {evidence.counted[:-1]} {late} {value}."
    rate = estimate_episode_rate(evidence.series, limit_ns, evidence.index)
    seen = f"The longest seen is {format_short_ns(longest.value)}, but no run can prove a maximum"
    every_s = _seconds_that_pass(rate.high_per_s)
    if every_s is None:
        return "inconclusive", f"{seen}, and this one is too short to bound how rare more is."
    return "inconclusive", (
        f"{seen}: with 95 % confidence {format_short_ns(limit_ns)} is exceeded less often than "
        "once in "
        f"{format_seconds_down(every_s)}; "
        f"over({format_exact_ns(limit_ns)})<1/{format_exact_ns(round(every_s * 1e9))} "
        "would pass."
    )


def _rate(demand: RateLimit, evidence: Evidence) -> tuple[Verdict, str]:
    watched_s = observed_s(evidence.series)
    if watched_s == 0:
        return "inconclusive", f"No {evidence.counted[:-1]} was recorded."
    rate = estimate_episode_rate(evidence.series, demand.limit_ns, evidence.index)
    allowed_per_s = 1e9 / demand.every_ns
    noun = "episode" if rate.episodes == 1 else "episodes"
    seen = (
        f"{format_count(rate.episodes)} {noun} above {format_short_ns(demand.limit_ns)} in "
        f"{format_seconds_down(watched_s)}"
    )
    if demand.limit_ns == evidence.until_ns:
        # The run ended at the first significant interim look: the level allows for all looks.
        level = look_confidence(CONFIDENCE, rate.episodes + 1)
        strict = estimate_episode_rate(evidence.series, demand.limit_ns, evidence.index, level)
        rate = replace(rate, high_per_s=strict.high_per_s)
    high, low = rate.high_per_s, rate.low_per_s
    if high is not None and (high <= allowed_per_s if demand.inclusive else high < allowed_per_s):
        return "pass", (
            f"{seen}: with 95 % confidence less often than once in {format_seconds_down(1 / high)}."
        )
    if low > allowed_per_s if demand.inclusive else low >= allowed_per_s:
        return "fail", (
            f"{seen}: with 95 % confidence more often than once in {format_seconds_down(1 / low)}."
        )
    if high is None:
        return "inconclusive", f"{seen}: too few separate episodes to bound their rate."
    return "inconclusive", (
        f"{seen}: with 95 % confidence that can be as often as once in "
        f"{format_seconds_down(1 / high)}; "
        "measure longer."
    )


def _seconds_that_pass(high_per_s: float | None) -> float | None:
    """Return the longest T, in two digits, for which over(...)<1/T passes at this upper limit."""
    if high_per_s is None or high_per_s <= 0:
        return None
    every_s = 1 / high_per_s
    step = 10.0 ** (math.floor(math.log10(every_s)) - 1)
    rounded = math.floor(every_s / step) * step
    return rounded if rounded < every_s else rounded - step
