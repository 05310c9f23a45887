"""What is asked of two sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from whylate.stats.comparison.run_statistics import STATISTICS, Statistic


@dataclass(frozen=True)
class Question:
    """What is asked of two sides.

    statistics: by which they are compared. margins: by the name of a statistic, the factor above 1
    within which both sides are called the same. higher_is_better: of values that are no latencies.
    accept: whatever else lies between the two sides, as another boot. unit: of the values. linear:
    values are compared as they are, and not their logarithms. alpha: the level of all that is
    tested; of a study's looks less than 5 %.
    """

    statistics: Sequence[Statistic] = STATISTICS
    margins: Mapping[str, float] = field(default_factory=dict)
    higher_is_better: bool = False
    accept: bool = False
    unit: str = "ns"
    linear: bool = False
    alpha: float = 0.05
