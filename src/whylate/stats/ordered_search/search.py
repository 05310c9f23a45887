"""The search: from what was measured so far to the next run, or to the answer.

It has no state of its own. The same history, events and settings give the same step, so a search
that was interrupted is resumed from its list of events. Runs of an earlier comparison of both ends
are events like others.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.ordered_search.answer import Answer, Kind, Kinds, best_answer, early_answer
from whylate.stats.ordered_search.builds import builds_probability
from whylate.stats.ordered_search.choice import choose
from whylate.stats.ordered_search.events import (
    Event,
    Measured,
    SameBinary,
    Settings,
    check_events,
)
from whylate.stats.ordered_search.history import History
from whylate.stats.ordered_search.outlook import Outlook, outlook_of
from whylate.stats.ordered_search.posterior import change_prior, infer, unbuildable

#: Both ends are measured until they differ by so many standard errors, or twice `end_runs` times.
_CLEAR = 4.0
#: Ends that are most probably alike are measured until that is as probable as asked for, or so many
#: times `end_runs` times.
_ALIKE = 4


@dataclass(frozen=True)
class Run:
    """The version to run next.

    best: what would be said now; None before both ends have runs. outlook: how far the search is;
    None for a run of an end.
    """

    version: int
    best: Answer | None
    outlook: Outlook | None = None


def next_step(
    history: History, events: Sequence[Event], settings: Settings, built: Collection[int] = ()
) -> Run | Answer:
    """Return the next run, or the answer when it is as probable as asked for.

    built: versions that need no build beside those that were run.
    After max_runs it is the best answer that there is. Where both ends are most probably alike it
    is "no step", with the probability of that, which may be below the confidence. Raises ValueError
    for events that do not fit the history.
    """
    check_events(events, history.size)
    if not change_prior(history, events).any():
        # No change lies between versions of different binaries.
        return Answer(Kind.NO_STEP, (), (), 1.0, None, Kinds(1.0, 0.0, 0.0, 0.0))
    runs = [event for event in events if isinstance(event, Measured)]
    end = _first_end(history, runs, settings)
    if end is not None and len(runs) < settings.max_runs:
        return Run(end, None)
    posterior = infer(history, events)
    failed = unbuildable(events)
    best = best_answer(history, posterior, failed)
    if best.decided(settings.confidence):
        return best
    if len(runs) >= settings.max_runs:
        return early_answer(history, posterior, failed, settings.confidence)
    alike = _are_alike(history, runs, best)
    if alike and len(runs) >= 2 * _ALIKE * settings.end_runs:
        return best
    end = _next_of_ends(history, runs, settings) if alike else _reference(history, runs, settings)
    if end is not None:
        return Run(end, best)
    run_versions = {run.version for run in runs}
    known = dict.fromkeys({0, history.size - 1} | run_versions, True)
    builds = builds_probability(known | dict.fromkeys(failed, False), history.size)
    same = {event.version for event in events if isinstance(event, SameBinary)}
    ready = {*run_versions, *same, *built} - failed
    booted = runs[-1].version
    version = choose(history, posterior, builds, ready, booted, settings.costs)
    return Run(version, best, outlook_of(history, posterior, version, settings.confidence))


def _first_end(history: History, runs: Sequence[Measured], settings: Settings) -> int | None:
    """Return GOOD or BAD as long as their difference is not measured well enough.

    That which has fewer runs comes next; where they have equally many, a random one.
    """
    good, bad = _of_ends(history, runs)
    for pairs in range(settings.end_runs, 2 * settings.end_runs + 1):
        if min(len(good), len(bad)) < pairs:
            return _next_of_ends(history, runs, settings)
        if _clear(good[:pairs], bad[:pairs]):
            return None
    return None


def _next_of_ends(history: History, runs: Sequence[Measured], settings: Settings) -> int:
    good, bad = _of_ends(history, runs)
    if len(good) != len(bad):
        return 0 if len(good) < len(bad) else history.size - 1
    rng = np.random.default_rng([settings.seed, len(good)])
    return int(rng.choice([0, history.size - 1]))


def _of_ends(history: History, runs: Sequence[Measured]) -> tuple[list[float], list[float]]:
    good = [run.value for run in runs if run.version == 0]
    return good, [run.value for run in runs if run.version == history.size - 1]


def _clear(good: Sequence[float], bad: Sequence[float]) -> bool:
    squares = np.var(good, ddof=1) / len(good) + np.var(bad, ddof=1) / len(bad)
    return abs(float(np.mean(bad) - np.mean(good))) >= _CLEAR * math.sqrt(float(squares))


def _are_alike(history: History, runs: Sequence[Measured], best: Answer) -> bool:
    """Return whether both ends are most probably alike, before anything else is measured.

    To be as sure of no step as of a step can take hundreds of runs: a step may be small.
    """
    ends_only = all(run.version in (0, history.size - 1) for run in runs)
    return ends_only and best.kind is Kind.NO_STEP and best.kinds.no_step > 0.5


def _reference(history: History, runs: Sequence[Measured], settings: Settings) -> int | None:
    """Return GOOD or BAD where it is due again: a reference against drift."""
    ends = (0, history.size - 1)
    last = {run.version: place for place, run in enumerate(runs)}
    oldest = min(ends, key=lambda end: last.get(end, -1))
    due = len(runs) - 1 - last.get(oldest, -1) >= settings.reference_every
    return oldest if due else None
