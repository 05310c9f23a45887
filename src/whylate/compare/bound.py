"""How rare is it that something is later than so much? What runs together bear out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import msgspec

from whylate.compare.extrapolation import Extrapolation, extrapolate
from whylate.compare.runs import Run, describe_run, differing, twice_there
from whylate.quantities import format_count, format_seconds_down, format_short_ns
from whylate.recording.errors import LackingError
from whylate.recording.reader import open_recording
from whylate.stats.run.cpu_series import observed_s
from whylate.stats.run.episodes import episode_starts
from whylate.stats.run.extremes import estimate_extremal_index
from whylate.stats.run.ordered import merge_ordered, sort_series
from whylate.stats.tail.return_level import LEAST_ROWS, RunTail, summarize_tail
from whylate.stats.tail.worst_case import (
    ObservedRun,
    Rate,
    estimate_pooled_rate,
    more_seconds_to_claim,
    seconds_to_claim,
)
from whylate.summary.requirements import RateLimit
from whylate.summary.trust import assess


class Bound(msgspec.Struct, frozen=True):
    """What runs say of latencies above above_ns, with 95 % confidence each.

    largest_ns: the largest that was seen; at_least: an overrun, known to be later than that.
    once_in_s: an episode above it comes less often than that. more_often_than_s: and more often
    than that; None where none came. clusters: so many episodes count as one. more_s: about so much
    longer would decide the claim; None: nothing to decide, or it never would. why_not: why there is
    no answer. extrapolation: where one was asked for.
    """

    above_ns: int
    runs: int
    seconds: float
    episodes: int
    largest_ns: int | None
    at_least: bool
    once_in_s: float | None
    more_often_than_s: float | None
    clusters: float | None
    claim: str | None = None
    verdict: Literal["pass", "fail", "inconclusive", "no verdict"] | None = None
    why: str | None = None
    more_s: float | None = None
    why_not: str | None = None
    extrapolation: Extrapolation | None = None


@dataclass(frozen=True)
class _Seen:
    """What is kept of a run. theta: None where too little is seen of how episodes cluster.

    tail: None where nobody asked for it, or there is none.
    """

    run: Run
    largest_ns: int | None
    at_least: bool
    episodes: int
    seconds: float
    theta: float | None
    tail: RunTail | None


def bound(
    recordings: Sequence[Path],
    above_ns: int | None = None,
    claim: RateLimit | None = None,
    once_in_ns: int | None = None,
) -> Bound:
    """Say how rare episodes above a latency are in runs like these; raises RecordingError.

    above_ns: None with no claim: the largest latency that was seen. once_in_ns: extrapolate, how
    late an episode is about once in this time.
    """
    if claim is not None:
        above_ns = claim.limit_ns
    seen = [
        _seen(recording, above_ns, with_tail=once_in_ns is not None) for recording in recordings
    ]
    seconds = sum(run.seconds for run in seen)
    episodes = sum(run.episodes for run in seen)
    known = [run for run in seen if run.largest_ns is not None]
    worst = max(known, key=lambda run: run.largest_ns or 0, default=None)
    if above_ns is None:
        above_ns = (worst.largest_ns if worst else None) or 0
    why_not = _why_not(seen)
    rate = None
    if why_not is None:
        rate = estimate_pooled_rate(
            [
                ObservedRun(run.episodes, run.seconds, run.theta or 1.0)
                for run in seen
                if run.seconds
            ]
        )
    verdict, why, more_s = _judged(claim, rate, why_not)
    return Bound(
        above_ns=above_ns,
        runs=len(seen),
        seconds=seconds,
        episodes=episodes,
        largest_ns=worst.largest_ns if worst else None,
        at_least=worst.at_least if worst else False,
        once_in_s=1 / rate.high_per_s if rate else None,
        more_often_than_s=1 / rate.low_per_s if rate and rate.low_per_s > 0 else None,
        clusters=rate.scale if rate else None,
        claim=claim.text if claim else None,
        verdict=verdict,
        why=why,
        more_s=more_s,
        why_not=why_not,
        extrapolation=None if once_in_ns is None else _extrapolated(seen, once_in_ns / 1e9),
    )


def _extrapolated(seen: Sequence[_Seen], every_s: float) -> Extrapolation:
    in_order = sorted(seen, key=lambda each: each.run.made)
    boots = {each.run.boot for each in seen}
    return extrapolate(
        [each.tail for each in in_order if each.tail is not None],
        every_s,
        distrust=_not_together([each.run for each in seen]) or _too_short(seen),
        one_boot=len(boots) == 1 and None not in boots,
    )


def _too_short(seen: Sequence[_Seen]) -> str | None:
    empty = sum(run.tail is None for run in seen)
    return (
        f"{empty} of {len(seen)} runs have fewer than {LEAST_ROWS} activations" if empty else None
    )


def _seen(directory: Path, above_ns: int | None, *, with_tail: bool) -> _Seen:
    """Look at a run; above_ns None: the largest latency of all runs, above which there is none."""
    recording = open_recording(directory)
    if not recording.manifest.has_all_rows:
        raise LackingError(
            f"{directory} has rows of some executions only: how often something comes takes all of "
            "them, measure with --one-in 1"
        )
    run = describe_run(directory, recording.manifest)
    # They decide how often something is late: rates of unlike runs have no mean.
    conditions = {name: run.beside[name] for name in ("board", "load", "CPUs", "priority")}
    series = recording.series
    together = merge_ordered([sort_series(cpu) for cpu in series])
    index = estimate_extremal_index(together, series, "episodes") if together.n else None
    largest = together.at_least(together.n - 1) if together.n else None
    exact = together.at_most(together.n - 1) if together.n else None
    return _Seen(
        replace(
            run,
            distrust=tuple(assess(recording.manifest, series).trust.reasons),
            sets={**run.sets, **conditions},
        ),
        largest_ns=largest,
        at_least=largest is not None and exact != largest,
        episodes=0
        if above_ns is None
        else sum(start.size for start in episode_starts(series, above_ns)),
        seconds=observed_s(series),
        theta=index.cautious if index else None,
        tail=summarize_tail(together, series, index.cautious if index else None)
        if with_tail and together.n >= LEAST_ROWS
        else None,
    )


def _not_together(runs: Sequence[Run]) -> str | None:
    """Say what keeps runs from being taken together: one that is none, or another workload."""
    bad = [run for run in runs if run.distrust]
    if bad:
        return f"{len(bad)} of {len(runs)} runs must not be judged: {bad[0].distrust[0]}"
    twice = twice_there([(run.identity, run.name) for run in runs])
    if twice is not None:
        return twice
    difference = differing([run.sets for run in runs])
    if difference is None:
        return None
    name, odd = difference
    return f"the runs differ in their {name}: {runs[0].sets[name]} and {runs[odd].sets[name]}"


def _why_not(seen: Sequence[_Seen]) -> str | None:
    bad = _not_together([each.run for each in seen])
    if bad is not None:
        return bad
    if not any(run.seconds for run in seen):
        return "no activation was recorded"
    if any(run.theta is None for run in seen if run.seconds):
        return (
            "late activations came in too few separate episodes to say how they cluster: measure "
            "longer"
        )
    return None


def _judged(
    claim: RateLimit | None, rate: Rate | None, why_not: str | None
) -> tuple[Literal["pass", "fail", "inconclusive", "no verdict"] | None, str | None, float | None]:
    """Return what becomes of a claim, one sentence why, and how much longer would decide it."""
    if claim is None:
        return None, None, None
    if rate is None:
        return "no verdict", why_not, None
    allowed_per_s = 1e9 / claim.every_ns
    noun = "episode" if rate.episodes == 1 else "episodes"
    seen = (
        f"{format_count(rate.episodes)} {noun} above {format_short_ns(claim.limit_ns)} in "
        f"{format_seconds_down(rate.seconds)}"
    )
    if rate.high_per_s < allowed_per_s:
        return (
            "pass",
            f"{seen}: less often than once in {format_seconds_down(1 / rate.high_per_s)}",
            None,
        )
    if rate.low_per_s >= allowed_per_s:
        return (
            "fail",
            f"{seen}: more often than once in {format_seconds_down(1 / rate.low_per_s)}",
            None,
        )
    more_s = more_seconds_to_claim(rate, allowed_per_s)
    return (
        "inconclusive",
        f"{seen}: it can be as often as once in {format_seconds_down(1 / rate.high_per_s)}",
        more_s,
    )


def planned_seconds(claim: RateLimit, clusters: float = 1.0) -> float:
    """Return how long a run without any episode must be for a claim, before anything is run.

    clusters: how many episodes come together, about.
    """
    return seconds_to_claim(1e9 / claim.every_ns, 1 / clusters)
