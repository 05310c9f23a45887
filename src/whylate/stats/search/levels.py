"""Where a run lies between the ends, and how the members of a set may act together.

A level is a part of the gap: 0 at the slow end, 1 at the fast end. Mixtures of a set's members have
levels of a grid. A form says which level each setting has: all are needed, any is enough, they add
up, and what is made of these. What has none of the forms is found too, by levels that are free, and
takes more runs: six free levels of three members have more freedom than the choice of the three.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations

import numpy as np

from whylate.stats.arrays import Floats

LEVELS = np.array([-0.5, 0.0, 0.2, 1 / 3, 0.5, 2 / 3, 0.8, 1.0, 1.5])
#: Prior of a level that is free.
FREE = np.array([0.03, 0.32, 0.06, 0.06, 0.06, 0.06, 0.06, 0.32, 0.03])
AT_SLOW, AT_FAST = 1, 7
#: Prior probability that a set of several members has one of the forms.
FORMED = 0.7
#: Parts of the gap of members that add up.
_ADDED: dict[int, tuple[tuple[float, ...], ...]] = {
    2: ((0.5, 0.5), (1 / 3, 2 / 3), (0.2, 0.8)),
    3: ((1 / 3, 1 / 3, 1 / 3), (0.5, 0.25, 0.25), (0.6, 0.2, 0.2), (0.4, 0.4, 0.2)),
    4: ((0.25, 0.25, 0.25, 0.25), (0.4, 0.2, 0.2, 0.2)),
}


@cache
def forms(size: int) -> Floats:
    """Return the forms of so many members, 2 to 4: 1 at the level of each setting.

    Shape (forms, 2^size, levels); of a setting's number, member i has the bit i.
    """
    on = np.array([[setting >> member & 1 for member in range(size)]
                   for setting in range(2**size)], float)  # fmt: skip
    both, any_of = on.min(axis=1), on.max(axis=1)
    made = [both, any_of]
    for parts in _ADDED[size]:
        made += [on @ np.array(order) for order in sorted(set(permutations(parts)))]
    if size == 3:
        made.append((on.sum(axis=1) >= 2).astype(float))
        for member in range(3):
            own, others = on[:, member], np.delete(on, member, axis=1)
            either, all_of = others.max(axis=1), others.min(axis=1)
            made += [own * either, np.maximum(own, all_of)]
            made += [(own + all_of) / 2, (own + either) / 2]
    place = np.abs(np.array(made)[:, :, None] - LEVELS).argmin(axis=2)
    chosen: Floats = (place[:, :, None] == np.arange(len(LEVELS))).astype(float)
    return chosen
