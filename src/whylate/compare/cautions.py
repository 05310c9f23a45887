"""What keeps runs from being compared, and what a careful reader wants to know besides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whylate.compare.confounded import Units
from whylate.compare.runs import UNKNOWN, Arm, Run, differing
from whylate.stats.modes import two_modes
from whylate.summary.units import ns_text

#: Statistics in which runs are looked at for groups: further out they spread by themselves.
_GROUPS_IN = ("p50", "p99")
#: Logarithms of two groups that differ by less are of no interest.
_APART = 0.02
#: Runs that are named.
_NAMED = 6


class UnequalError(Exception):
    """Runs that are not of the same workload: one line that says what differs."""


def check_equal(runs: Sequence[Run]) -> None:
    """Raise UnequalError where runs were not made with the same workload."""
    found = differing([run.sets for run in runs])
    if found is not None:
        name, odd = found
        first, other = (run.sets.get(name, UNKNOWN) for run in (runs[0], runs[odd]))
        raise UnequalError(
            f"{runs[0].name} has {name} {first} and {runs[odd].name} {other}: such runs cannot be "
            "compared"
        )


def distrust(first: Arm, second: Arm) -> str | None:
    """Say which runs must not be judged; None where all may be."""
    bad = [run for arm in (first, second) for run in arm.runs if run.distrust]
    if not bad:
        return None
    others = f" (and {len(bad) - 1} more runs)" if len(bad) > 1 else ""
    return f"{bad[0].name}{others} must not be judged: {bad[0].distrust[0]}"


def cautions(first: Arm, second: Arm, of: Units) -> list[str]:
    """Return what does not void the comparison."""
    runs = [*first.runs, *second.runs]
    found = [*_beside(first, second)]
    lacks = dict.fromkeys(text for run in runs for text in run.lacks)
    if lacks:
        found.append(f"these files do not have {'; '.join(lacks)}")
    for arm in (first, second):
        found += [text for name in _GROUPS_IN if (text := _groups(arm, name))]
    if of.accepted is not None:
        found.append(f"accepted: {of.accepted}")
    elif of.scope == "boot" and of.why_not is None:
        found.append("all runs are from one boot: another may differ by itself")
    return found


def _beside(first: Arm, second: Arm) -> list[str]:
    """Say what differs between the sides besides, or within one of them."""
    found = []
    for name in first.runs[0].beside:
        ours, theirs = (
            list(dict.fromkeys(run.beside.get(name, "") for run in arm.runs))
            for arm in (first, second)
        )
        if len(ours) > 1 or len(theirs) > 1:
            found.append(f"{name} differs within a side: {', '.join([*ours, *theirs][:4])}")
        elif ours != theirs:
            found.append(f"{name} is {ours[0]} in {first.name} and {theirs[0]} in {second.name}")
    return found


def _groups(arm: Arm, name: str) -> str | None:
    """Say that the runs of a side fall into two groups, where they do."""
    if not all(name in run.values for run in arm.runs):
        return None
    modes = two_modes(arm.compared(name))
    if modes is None or modes.high - modes.low < _APART:
        return None
    few = modes.upper if modes.upper.sum() * 2 <= len(arm.runs) else ~modes.upper
    names = [
        run.name.rstrip("/").rsplit("/", 1)[-1]
        for run, one in zip(arm.runs, few, strict=True)
        if one
    ]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return (
        f"{arm.name}: {name} comes in two groups, near {_back(modes.low)} and near "
        f"{_back(modes.high)} ({', '.join(names[:_NAMED])}{more} apart from the rest): "
        "look for what differs between these runs before anything else"
    )


def _back(log: float) -> str:
    return ns_text(round(float(np.exp(log))))
