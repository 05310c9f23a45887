"""What a search will most probably want to run next, while a run is still being made.

The run in progress will come out like GOOD or like BAD. For each of the two the search itself is
asked, and what it wants that is built already is supposed to come out as it did before.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from whylate.stats.ordered_search.events import Event, Measured, Settings
from whylate.stats.ordered_search.history import History
from whylate.stats.ordered_search.search import Run, next_step

#: Runs of each end before its spread is taken to be known.
_ENOUGH = 3
#: Runs that are supposed of versions that are built, before it is given up.
_MOST = 40


def likely_next(
    history: History,
    events: Sequence[Event],
    settings: Settings,
    running: int,
    built: Collection[int],
) -> list[int]:
    """Return versions that are not built and that may be wanted next, the nearest first.

    running: the version of the run in progress. built: those that need no build, those that fail
    to build among them. Two at most. Raises ValueError as next_step() does.
    """
    ends = {0: values_of(events, 0), history.size - 1: values_of(events, history.size - 1)}
    missing = [end for end in ends if end not in built]
    if missing or min(map(len, ends.values())) < _ENOUGH:
        return missing
    wanted: dict[int, int] = {}
    for values in ends.values():
        mean, spread = float(np.mean(values)), float(np.std(values, ddof=1))
        supposed = [*events, Measured(running, mean)]
        for count in range(_MOST):
            step = next_step(history, supposed, settings, built)
            if not isinstance(step, Run):
                break
            if step.version not in built:
                wanted.setdefault(step.version, count)
                break
            known = values_of(events, step.version) or [mean]
            # Not all the same: the search would take them for exact.
            off = spread if count % 2 else -spread
            supposed.append(Measured(step.version, float(np.mean(known)) + off))
    return sorted(wanted, key=lambda version: wanted[version])


def values_of(events: Sequence[Event], version: int) -> list[float]:
    """Return the values of the runs of a version."""
    return [e.value for e in events if isinstance(e, Measured) and e.version == version]
