"""Which of two sides has rare events more often? An exact sequential test of pairs.

Each pair has one run of either side, in random order. Only the pairs in which one side alone has
the event count (McNemar 1947, Psychometrika 12). If it is as likely on both sides, the one that has
it is either with probability 1/2, independently of all other pairs: also where it becomes more or
less likely from pair to pair. The counts of the two sides are then a walk on a lattice whose
probabilities are known exactly, so a boundary may be looked at after every pair.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

#: The chance to decide, if there is no difference, whenever that is.
ALPHA = 0.05

Side = Literal["first", "second"]


@cache
def least_counts(rarer: int, alpha: float = ALPHA) -> tuple[int, ...]:
    """Return how many events decide, while the other side has 0, 1, …, `rarer` of them.

    The lower side at 0 has the level alpha 5/8, and at m > 0 the level alpha 3/8 / (m (m + 1)): so
    much of alpha for each, of which the sum is alpha. 5/8 of 5 % are 2 / 2^6: six events to none
    decide. Raises ValueError for a negative count.
    """
    if rarer < 0:
        raise ValueError("a count is at least 0")
    least: list[int] = []
    # The chances to come, undecided, to (first, second) for a fixed second side, by the first from
    # `second` on: as far as a decision needs. By symmetry the other half is the same.
    column: list[float] = []
    for second in range(rarer + 1):
        level = alpha * (5 / 8 if second == 0 else 3 / 8 / (second * (second + 1)))
        # To (m, m) one comes from (m, m - 1) and, as often, from (m - 1, m).
        chances = [1.0 if second == 0 else column[1] if len(column) > 1 else 0.0]
        # From (n - 1, m) either side decides with half the chance each: together with all of it.
        while chances[-1] > level or second + len(chances) <= _last(least):
            below = column[len(chances) + 1] if len(chances) + 1 < len(column) else 0.0
            chances.append((chances[-1] + below) / 2)
        least.append(second + len(chances))
        column = chances
    return tuple(least)


def decide(first: int, second: int, alpha: float = ALPHA) -> Side | None:
    """Return which side has the event more often; None: nothing is decided.

    first, second: pairs in which that side alone had the event. It may be asked after every pair,
    and the first answer holds: of two sides without a difference one is named with probability
    alpha at most.
    """
    rarer, oftener = sorted((first, second))
    if oftener < least_counts(rarer, alpha)[rarer]:
        return None
    return "first" if first > second else "second"


def _last(least: list[int]) -> int:
    """Return what decided at the count before: a boundary does not fall."""
    return least[-1] if least else 0
