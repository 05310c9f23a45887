"""What is asked of two sides, and what is answered: what all outputs print."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from whylate.stats.comparison.run_statistics import STATISTICS, Statistic
from whylate.stats.comparison.student import StudentInterval

#: same: the differences are all within the stated margins. inconclusive: the runs do not decide
#: it. no verdict: these runs could not decide it, however they came out.
Verdict = Literal["better", "worse", "same", "inconclusive", "no verdict"]
#: Of what an answer holds: of runs in this one boot; of boots like these; of runs of which it is
#: not known which boot they are from.
Scope = Literal["boot", "boots", "unknown"]


@dataclass(frozen=True)
class SideDemand:
    """What a comparison of two sides asks of a hit: which of them must have it.

    only: a side that should have none and has some gives no verdict, and not a caution.
    """

    name: str
    first: bool = True
    second: bool = True
    only: bool = False


@dataclass(frozen=True)
class Question:
    """What is asked of two sides.

    statistics: by which they are compared. margins: by the name of a statistic, the factor above 1
    within which both sides are called the same. higher_is_better: of values that are no latencies.
    accept: whatever else lies between the two sides, as another boot. unit: of the values. linear:
    values are compared as they are, and not their logarithms. alpha: the level of all that is
    tested; of a study's looks less than 5 %. hits: what each side must have hit. studied: parts of
    the environment that differ on purpose.
    """

    statistics: Sequence[Statistic] = STATISTICS
    margins: Mapping[str, float] = field(default_factory=dict)
    higher_is_better: bool = False
    accept: bool = False
    unit: str = "ns"
    linear: bool = False
    alpha: float = 0.05
    hits: Sequence[SideDemand] = ()
    studied: Collection[str] = ()


class ArmFigures(msgspec.Struct, frozen=True):
    """One side of a comparison."""

    name: str
    runs: int
    #: None where it is not known.
    boots: int | None


class StatisticRow(msgspec.Struct, frozen=True):
    """One statistic on both sides. Times are in ns; other values in the unit of their files.

    first, second: typical values of a run (of logarithms the mean). ratio: second to first, with
    low and high; None where it is refused, and the ends also where the runs are too few.
    difference: the same as a difference, of values that are no logarithms.
    """

    name: str
    first: float | None = None
    second: float | None = None
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    #: Adjusted for all statistics that were tested together; None where it was not.
    p: float | None = None
    #: Overruns, were they longer, would raise the values of that side.
    first_at_least: bool = False
    second_at_least: bool = False
    #: The margin that was stated, as a factor above 1, and whether the ratio was shown to keep it.
    margin: float | None = None
    within: bool | None = None
    #: Why there is none, or no interval.
    refused: str | None = None
    #: Of values that are no logarithms ratio, low and high are differences.
    linear: bool = False
    unit: str = "ns"
    higher_is_better: bool = False
    #: Of this row, where rows are judged one by one, all of them at the level of the comparison.
    verdict: Verdict | None = None


class EnvironmentRow(msgspec.Struct, frozen=True):
    """A part of what both sides ran on; first, second: None: not known.

    differs: None: not known. text: how they differ. studied: it differs on purpose.
    """

    name: str
    first: str | None
    second: str | None
    differs: bool | None
    text: str = ""
    studied: bool = False


class HitSide(msgspec.Struct, frozen=True):
    """Hits of one side. known: runs whose count is known. with_hits: those that have any.

    median, least, most: of the counts of a run; None where none is known. expected: whether this
    side must have hits; None: nothing was asked.
    """

    runs: int
    known: int
    with_hits: int
    median: float | None
    least: int | None
    most: int | None
    expected: bool | None = None


class HitRow(msgspec.Struct, frozen=True):
    """Hits of a function, a tracepoint, or a line of the facts (1 or 0 a run), on both sides."""

    name: str
    first: HitSide
    second: HitSide


class Comparison(msgspec.Struct, frozen=True):
    """Whether the second is better than the first."""

    first: ArmFigures
    second: ArmFigures
    unit: str
    verdict: Verdict
    #: One sentence.
    why: str
    scope: Scope
    statistics: list[StatisticRow]
    #: What these runs show by themselves, where they may not stand for others.
    within: Verdict | None = None
    #: That any statistic differs; None where nothing was tested.
    p: float | None = None
    #: The least that so few runs could come out with.
    smallest_p: float | None = None
    #: Runs were exchanged within pairs alone.
    paired: bool = False
    #: About so many more runs on each side would decide; None: not known, or nothing to decide.
    more_runs: int | None = None
    cautions: list[str] = []
    #: What both sides ran on; none where no run has facts.
    environment: list[EnvironmentRow] = []
    hits: list[HitRow] = []
    #: Events that both sides counted: intervals of 95 % each, and no part of the verdict.
    counters: list[StatisticRow] = []
    student: StudentInterval | None = None
    #: Values that were named as pairs: what they have in common, the first's and the second's.
    pairs: list[tuple[str, float, float]] = []
