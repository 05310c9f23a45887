"""Events that both sides counted, side by side: per unit of work, with an interval by runs.

Like two columns of `perf stat`, but the unit is the run. No event decides a verdict: intervals are
95 % each by itself, and of many events some miss what is true.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from whylate.compare.model import StatisticRow
from whylate.compare.runs import Arm
from whylate.compare.tested import LEVEL
from whylate.stats.comparison.shifts import paired_shift, unpaired_shift

#: Events that are listed.
MOST_EVENTS = 200


def compare_counts(first: Arm, second: Arm, *, paired: bool) -> list[StatisticRow]:
    """Return a row for each event that every run has counted; paired: runs stand side by side.

    Ratios of typical values where every count is above zero, else differences. Counts of a side
    that is a single run have no interval.
    """
    runs = [*first.runs, *second.runs]
    names = [name for name in runs[0].counts if all(name in run.counts for run in runs)]
    return [_row(name, first, second, paired=paired) for name in names[:MOST_EVENTS]]


def left_out(first: Arm, second: Arm) -> Sequence[str]:
    """Return the events that only some of the runs have counted."""
    runs = [*first.runs, *second.runs]
    every = dict.fromkeys(name for run in runs for name in run.counts)
    return [name for name in every if not all(name in run.counts for run in runs)]


def _row(name: str, first: Arm, second: Arm, *, paired: bool) -> StatisticRow:
    ours, theirs = (
        np.array([run.counts[name].value for run in arm.runs]) for arm in (first, second)
    )
    linear = bool(min(ours.min(), theirs.min()) <= 0)
    if not linear:
        ours, theirs = np.log(ours), np.log(theirs)
    shift = paired_shift(theirs - ours, LEVEL) if paired else unpaired_shift(ours, theirs, LEVEL)

    def back(value: float | None) -> float | None:
        return value if linear or value is None else math.exp(value)

    return StatisticRow(
        name=name,
        first=back(float(ours.mean())),
        second=back(float(theirs.mean())),
        ratio=back(shift.value),
        low=back(shift.low),
        high=back(shift.high),
        refused=None if shift.low is not None else "too few runs for an interval",
        linear=linear,
        unit=first.runs[0].counts[name].per,
    )
