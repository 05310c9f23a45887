"""What keeps runs from being compared, and what a careful reader wants to know besides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whylate.compare.confounded import Units
from whylate.compare.model import Question
from whylate.compare.runs import UNKNOWN, Arm, Run, differing, twice_there
from whylate.compare.words import amount_text
from whylate.stats.comparison.heterogeneity import modes_test
from whylate.stats.comparison.run_statistics import STATISTICS, Statistic

#: Statistics of latencies in which runs are looked at for groups: further out they spread by
#: themselves. What other runs have is all looked at, and so many of them are listed.
_GROUPS_IN = ("p50", "p99")
_MOST_GROUPS = 3
#: Logarithms of two groups that differ by less are of no interest.
_APART = 0.02
#: Runs that are named.
_NAMED = 6


class UnequalError(Exception):
    """Runs that are not of the same workload: one line with what differs."""


def check_equal(runs: Sequence[Run]) -> None:
    """Raise UnequalError where runs were not made with the same workload, or one is there twice."""
    difference = differing([run.sets for run in runs])
    if difference is not None:
        name, odd = difference
        first, other = (run.sets.get(name, UNKNOWN) for run in (runs[0], runs[odd]))
        raise UnequalError(
            f"{runs[0].name} has {name} {first} and {runs[odd].name} {other}: such runs cannot be "
            "compared"
        )
    twice = twice_there([(run.identity, run.name) for run in runs])
    if twice is not None:
        raise UnequalError(twice)


def distrust(first: Arm, second: Arm) -> str | None:
    """Say which runs must not be judged; None where all may be."""
    bad = [run for arm in (first, second) for run in arm.runs if run.distrust]
    if not bad:
        return None
    others = f" (and {len(bad) - 1} more runs)" if len(bad) > 1 else ""
    return f"{bad[0].name}{others} must not be judged: {bad[0].distrust[0]}"


def cautions(first: Arm, second: Arm, of: Units, question: Question) -> list[str]:
    """Return what does not void the comparison."""
    runs = [*first.runs, *second.runs]
    texts = [*_beside(first, second), *_notes(runs)]
    lacks = dict.fromkeys(text for run in runs for text in run.lacks)
    if lacks:
        texts.append(f"these files do not have {'; '.join(lacks)}")
    if not question.linear:
        texts += _all_groups((first, second), question)
    if of.accepted is not None:
        texts.append(f"accepted: {of.accepted}")
    elif of.scope == "boot" and of.why_not is None:
        texts.append("all runs are from one boot: another may differ by itself")
    elif of.scope == "unknown" and of.why_not is None and "tool" in runs[0].sets:
        texts.append(
            "these files do not say when and in which boots their runs were made: where those of "
            "one side came first, or from a boot of their own, that may be all that differs"
        )
    return texts


def _beside(first: Arm, second: Arm) -> list[str]:
    """Say what differs between the sides besides, or within one of them."""
    texts = []
    for name in first.runs[0].beside:
        ours, theirs = (
            list(dict.fromkeys(run.beside.get(name, "") for run in arm.runs))
            for arm in (first, second)
        )
        if len(ours) > 1 or len(theirs) > 1:
            texts.append(f"{name} differs within a side: {', '.join([*ours, *theirs][:4])}")
        elif ours != theirs:
            texts.append(f"{name} is {ours[0]} in {first.name} and {theirs[0]} in {second.name}")
    return texts


def _notes(runs: Sequence[Run]) -> list[str]:
    """Say of what is no copy, or the like, what it is: on both sides of it too."""
    noted: dict[str, list[str]] = {}
    for run in runs:
        for point in run.benchmark.points if run.benchmark is not None else ():
            if point.note and point.name not in noted.setdefault(point.note, []):
                noted[point.note].append(point.name)
    return [
        f"{names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: this is {note}"
        for note, names in noted.items()
    ]


def _all_groups(arms: Sequence[Arm], question: Question) -> list[str]:
    """Say which sides fall into groups, the first few statistics that show it."""
    statistics = question.statistics
    by_points = statistics and statistics[0].name not in (
        statistic.name for statistic in STATISTICS
    )
    looked = [statistic for statistic in statistics if by_points or statistic.name in _GROUPS_IN]
    # At 1 % for each side and statistic, or less where there are many.
    alpha = 0.01 * min(1.0, len(_GROUPS_IN) / max(1, len(looked)))
    texts = [_groups(arm, statistic, alpha, question.unit) for arm in arms for statistic in looked]
    groups = [text for text in texts if text]
    more = len(groups) - _MOST_GROUPS
    return groups[:_MOST_GROUPS] + [f"{more} more figures come in two groups"] * (more > 0)


def _groups(arm: Arm, statistic: Statistic, alpha: float, unit: str) -> str | None:
    """Say that the runs of a side fall into two groups, where they do.

    unit: of statistics that have none of their own.
    """
    name, unit = statistic.name, unit if statistic.unit is None else statistic.unit
    if not all(name in run.values for run in arm.runs):
        return None
    modes = modes_test(arm.compared(name), alpha)
    if modes is None or modes.high - modes.low < _APART:
        return None
    few = modes.upper if modes.upper.sum() * 2 <= len(arm.runs) else ~modes.upper
    names = [
        run.name.rstrip("/").rsplit("/", 1)[-1]
        for run, in_few in zip(arm.runs, few, strict=True)
        if in_few
    ]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"{arm.name}: {name} comes in two groups, near {_back(modes.low, unit)} and near "
        f"{_back(modes.high, unit)} ({', '.join(names[:_NAMED])}{more} apart from the rest): "
        "look for what differs between these runs before anything else"
    )


def _back(log: float, unit: str) -> str:
    return amount_text(float(np.exp(log)), unit)
