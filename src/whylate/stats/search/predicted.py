"""What the runs before say of a set: which effects of a member to look for in fresh runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whylate.stats.arrays import Floats
from whylate.stats.search.ends import level_of
from whylate.stats.search.model import Run
from whylate.stats.search.target import Target, fresh_runs

#: A level without runs is between the ends by its members; this counts as two runs.
_PRIOR_RUNS = 2.0


def predicted_effects(target: Target, history: Sequence[Run]) -> Floats:
    """Return the effect of each member at each setting of the others, shape (members, 2^k).

    As a part of the gap; at a setting and at the one with the member exchanged it is the same.
    Only runs before the first that was made for this target are used, so tests of fresh runs may be
    weighted by it.
    """
    fresh = np.flatnonzero(fresh_runs(history, target))
    before = list(history[: int(fresh[0])] if fresh.size else history)
    runs = level_of(before)
    setting = np.array([target.setting_of(run) for run in before])
    size = len(target.members)
    level = np.empty(target.full + 1)
    for each in range(target.full + 1):
        seen = runs.level[(setting == each) & np.isfinite(runs.level)]
        likely = each.bit_count() / size
        # The noise has heavy tails: what lies far beyond both ends counts as a little beyond.
        level[each] = (np.clip(seen, -1, 2).sum() + _PRIOR_RUNS * likely) / (
            seen.size + _PRIOR_RUNS
        )
    level[0], level[-1] = 0.0, 1.0
    every = np.arange(target.full + 1)
    return np.array(
        [level[every | 1 << place] - level[every & ~(1 << place)] for place in range(size)]
    )
