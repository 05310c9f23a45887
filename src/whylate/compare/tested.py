"""What two sets of runs show of each statistic: a ratio with its interval, and a joint test."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from whylate.compare.confounded import in_turns, matched
from whylate.compare.model import Question, StatisticRow
from whylate.compare.runs import Arm, lacking
from whylate.stats.arrays import Floats
from whylate.stats.comparison.joint import JointTest, joint_test, paired_test
from whylate.stats.comparison.run_statistics import Statistic
from whylate.stats.comparison.shifts import Estimate, paired_shift, unpaired_shift

LEVEL = 0.95
#: From this part of their variance on that lies between pairs, runs are exchanged within them.
_PAIRED_FROM = 0.5
#: Random relabellings come out the same each time.
_SEED = 5
#: So many times as far as values lie from each other is far from all of them.
_FAR = 100.0


@dataclass(frozen=True)
class Tested:
    """Two sides and what they show. test: None where there is no statistic that they bear.

    first, second: side by side where they are paired. hidden: the statistics whose difference may
    be none, were the overruns of the side that seems lower longer.
    """

    first: Arm
    second: Arm
    rows: list[StatisticRow]
    test: JointTest | None
    paired: bool
    hidden: frozenset[str]


def tested(first: Arm, second: Arm, question: Question) -> Tested:
    """Compare two sides by every statistic that all of their runs bear."""
    pairs = matched(first, second)
    if pairs is not None:
        first, second = pairs
    refused = {
        statistic.name: lacking(statistic, first, second) for statistic in question.statistics
    }
    borne = [statistic for statistic in question.statistics if refused[statistic.name] is None]
    turns = in_turns(first, second) if borne and pairs is None else None
    if turns is not None and _pairs_differ(_matrix(turns[0], borne), _matrix(turns[1], borne)):
        first, second = pairs = turns
    paired = pairs is not None
    test = _test(_matrix(first, borne), _matrix(second, borne), borne, paired=paired)
    hidden = _hidden(first, second, borne, test, question.alpha, paired=paired)
    p = (
        dict(zip((statistic.name for statistic in borne), test.each.tolist(), strict=True))
        if test
        else {}
    )
    rows = [
        _without(statistic, refused[statistic.name], question)
        if statistic.name not in p
        else _row(first, second, statistic, p[statistic.name], question, paired=paired)
        for statistic in question.statistics
    ]
    return Tested(first, second, rows, test, paired, hidden)


def _without(statistic: Statistic, refused: str | None, question: Question) -> StatisticRow:
    """Return the row of a statistic that was not tested, which keeps no margin stated for it."""
    margin = question.margins.get(statistic.name)
    return StatisticRow(
        statistic.name,
        margin=margin,
        within=None if margin is None else False,
        refused=refused,
        linear=question.linear,
        unit=_unit(statistic, question),
    )


def _matrix(arm: Arm, statistics: Sequence[Statistic]) -> Floats:
    """Return what is compared of each run, shape (runs, statistics)."""
    columns = [arm.compared(statistic.name) for statistic in statistics]
    return np.column_stack(columns) if columns else np.empty((len(arm.runs), 0))


def _pairs_differ(first: Floats, second: Floats) -> bool:
    """Whether runs of one pair resemble each other much more than those of two.

    By the part of the variance that lies between pairs (intraclass correlation), over all
    statistics. It does not change where the runs of a pair are exchanged, so that the test which is
    chosen by it keeps its level.
    """
    pairs = len(first)
    if pairs < 3:
        return False
    between = 2 * ((first + second) / 2).var(axis=0, ddof=1)
    within = ((first - second) ** 2).mean(axis=0) / 2
    both = between + within
    part = (between - within)[both > 0] / both[both > 0]
    return bool(part.size and part.mean() > _PAIRED_FROM)


def _test(
    first: Floats, second: Floats, statistics: Sequence[Statistic], *, paired: bool
) -> JointTest | None:
    if not statistics:
        return None
    weights = np.array([statistic.weight for statistic in statistics])
    rng = np.random.default_rng(_SEED)
    if paired:
        return paired_test(second - first, weights, rng)
    return joint_test(first, second, weights, rng)


def _hidden(
    first: Arm,
    second: Arm,
    borne: Sequence[Statistic],
    test: JointTest | None,
    alpha: float,
    *,
    paired: bool,
) -> frozenset[str]:
    """Return the statistics that would not differ if the lower side were as high as it can be.

    A quantile that has no bound in a run counts as a value far from all others does. Of a maximum
    that is not enough: what hides in one run may be the worst of all. Empty where nothing is found
    to differ in the first place.
    """
    if test is None or test.p > alpha:
        return frozenset()
    sides = _matrix(first, borne), _matrix(second, borne)
    hidden, raised = set(), []
    for column, (statistic, t) in enumerate(zip(borne, test.t.tolist(), strict=True)):
        lower = first if t > 0 else second
        if not lower.at_least(statistic.name):
            continue
        most = lower.most(statistic.name)
        if np.isinf(most).any() and statistic.q is None:
            hidden.add(statistic.name)
        else:
            both = np.concatenate([side[:, column] for side in sides])
            sides[0 if t > 0 else 1][:, column] = np.where(np.isinf(most), _beyond(both), most)
            raised.append(column)
    again = _test(*sides, borne, paired=paired) if raised else None
    if again is not None:
        for column in raised:
            turned = again.t[column] * test.t[column] <= 0
            if turned or again.each[column] > max(alpha, test.each[column]):
                hidden.add(borne[column].name)
    return frozenset(hidden)


def _unit(statistic: Statistic, question: Question) -> str:
    return question.unit if statistic.unit is None else statistic.unit


def _beyond(values: Floats) -> float:
    """Return a value so far above these that a joint test cuts it."""
    return float(values.max() + _FAR * (1 + np.ptp(values)))


def _row(
    first: Arm, second: Arm, statistic: Statistic, p: float, question: Question, *, paired: bool
) -> StatisticRow:
    name = statistic.name
    ours, theirs = first.compared(name), second.compared(name)

    def shift(level: float, ours: Floats, theirs: Floats) -> Estimate:
        if paired:
            return paired_shift(theirs - ours, level)
        return unpaired_shift(ours, theirs, level)

    def back(compared: float) -> float:
        return compared if question.linear else math.exp(compared)

    estimate = shift(LEVEL, ours, theirs)
    row = StatisticRow(
        name=name,
        first=back(float(ours.mean())),
        second=back(float(theirs.mean())),
        ratio=back(estimate.value),
        low=None if estimate.low is None else back(estimate.low),
        high=None if estimate.high is None else back(estimate.high),
        p=p,
        first_at_least=first.at_least(name),
        second_at_least=second.at_least(name),
        refused=None if estimate.low is not None else "too few runs for an interval",
        linear=question.linear,
        unit=_unit(statistic, question),
        higher_is_better=question.higher_is_better or statistic.higher_is_better,
    )
    margin = question.margins.get(name)
    if margin is None:
        return row
    if question.linear:
        return msgspec.structs.replace(row, margin=margin, within=False)
    # Two one-sided tests (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15), with either side as
    # high as it can be where overruns hide how high it is.
    level, limit = 1 - 2 * question.alpha, math.log(margin)
    within = all(
        shift(level, *sides).within(limit)
        for sides in ((ours, theirs), (first.most(name), theirs), (ours, second.most(name)))
    )
    return msgspec.structs.replace(row, margin=margin, within=within)


def differences(first: Arm, second: Arm) -> Floats:
    """Return second - first of runs that stand side by side, shape (pairs, statistics).

    By the statistics that all of them bear.
    """
    borne = [
        statistic
        for statistic in first.runs[0].statistics
        if lacking(statistic, first, second) is None
    ]
    return _matrix(second, borne) - _matrix(first, borne)
