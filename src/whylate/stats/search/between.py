"""Which settings between the ends of a set are run, to see whether each member matters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.search.model import Problem, Run
from whylate.stats.search.target import Target, arm_of, build

#: Rounds of all settings of two members, one in each context; more members have one round.
_ROUNDS_OF_TWO = 2
#: Then so many settings for each member of which it is not clear that it matters.
_MORE_OF_EACH = 2


def first_settings(
    target: Target, done: int, rng: np.random.Generator
) -> list[tuple[bool, int]] | None:
    """Return all settings between, each with its context, in random order; None: rounds are over.

    done: rounds so far. A setting of three members or more is run in the context that most of its
    members have: there the end and the corner have many runs to compare with.
    """
    members = len(target.members)
    if members == 1 or done >= (_ROUNDS_OF_TWO if members == 2 else 1):
        return None
    settings = (1 + rng.permutation(target.full - 1)).tolist()
    if members == 2:
        return [(bool((done + setting) % 2), setting) for setting in settings]
    return [(2 * setting.bit_count() > members, setting) for setting in settings]


def informative_settings(
    problem: Problem,
    target: Target,
    history: Sequence[Run],
    arm: Int64s,
    predicted: Floats,
    unclear: Sequence[int],
) -> list[tuple[bool, int]]:
    """Return the settings between that say most of these members, each with its context.

    arm: of each run, shape (runs,). predicted: the effect of each member at each setting, shape
    (members, 2^k). What n runs, and m with the member exchanged, in one context say of an effect is
    its square times n m / (n + m): chosen is where one run more adds most to that.
    """
    runs = np.bincount(arm[arm >= 0], minlength=2 * target.full + 4).astype(float)
    can_be_built = [
        (context, setting)
        for context, setting in product((False, True), range(1, target.full))
        if build(problem, target, context, setting, history) is not None
    ]
    chosen: list[tuple[bool, int]] = []
    for place in [place for _ in range(_MORE_OF_EACH) for place in unclear]:
        gains = []
        for context, setting in can_be_built:
            own, other = (runs[arm_of(context, each, target)]
                          for each in (setting, setting ^ 1 << place))  # fmt: skip
            more = _harmonic(own + 1, other) - _harmonic(own, other)
            gains.append(predicted[place, setting] ** 2 * more)
        if gains:
            chosen.append(can_be_built[int(np.argmax(gains))])
            runs[arm_of(*chosen[-1], target)] += 1
    return chosen


def _harmonic(first: float, second: float) -> float:
    return first * second / max(first + second, 1.0)
