"""What a run of another version costs beside another run of the same, by a bisection's journal.

To bring a version to a board is timed by itself: the command of `--install`. What else a change
takes, as an image that is written to a card before a boot, is part of the time of a run. It is
known by runs before which the board had run the same version: they lack it. A boot that comes
before every run is no cost of a change, and counts as part of each run.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import numpy as np

from whylate.bisect.ordered.model import RUN_KINDS, Step
from whylate.stats.ordered_search.events import Costs

#: Runs of either sort before their times are compared.
_ENOUGH = 3
#: The least time of a run, s: one that takes none would tell infinitely much per second.
_LEAST_S = 0.001


def costs_of(steps: Sequence[Step], builds_s: Sequence[float]) -> Costs:
    """Return the costs as medians so far; before the first run, those that a search begins with.

    builds_s: how long builds took. A change is taken to lengthen a run only where three quarters
    of the runs after one took longer than three quarters of the others: times of runs vary.
    """
    runs = [step for step in steps if step.kind in RUN_KINDS]
    if not runs:
        return Costs()
    after_change, again = _by_change(runs)
    run_s = statistics.median(step.took_s for step in runs)
    change_s = statistics.median(step.brought_s for step in after_change)
    if min(len(after_change), len(again)) >= _ENOUGH:
        longer = [step.took_s for step in after_change]
        shorter = [step.took_s for step in again]
        if np.quantile(longer, 0.25) > np.quantile(shorter, 0.75):
            run_s = statistics.median(shorter)
            change_s += statistics.median(longer) - run_s
    return Costs(
        run_s=max(run_s, _LEAST_S),
        boot_s=change_s,
        build_s=statistics.median(builds_s) if builds_s else 0.0,
    )


def _by_change(runs: Sequence[Step]) -> tuple[list[Step], list[Step]]:
    """Return runs before which their board had another version or none, and the others."""
    after_change: list[Step] = []
    again: list[Step] = []
    on_board: dict[str, tuple[str, bool]] = {}
    for step in runs:
        version = (step.version, step.kind == "reverted")
        (again if on_board.get(step.board) == version else after_change).append(step)
        on_board[step.board] = version
    return after_change, again
