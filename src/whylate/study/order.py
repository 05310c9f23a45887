"""In which order the runs of a study are made.

In rounds: each has every variant under every load once. Under one load the variants of a round
follow each other directly, in random order, so that what drifts slowly is alike for all of them.
The order depends on the plan's seed alone: a study that goes on after a crash goes on with it.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator

import numpy as np

from whylate.study.model import PlannedRun, StudyPlan


def order(plan: StudyPlan, board: str) -> Iterator[PlannedRun]:
    """Give all runs of a board, from the first round to the last."""
    for number in range(1, plan.stop.looks[-1] + 1):
        yield from round_of(plan, board, number)


def round_of(plan: StudyPlan, board: str, number: int) -> list[PlannedRun]:
    """Return the runs of one round of a board, in their order."""
    rng = np.random.default_rng([plan.seed, zlib.crc32(board.encode()), number])
    return [
        PlannedRun(board, plan.loads[load].name, plan.variants[variant].name, number)
        for load in rng.permutation(len(plan.loads))
        for variant in rng.permutation(len(plan.variants))
    ]


def left(
    plan: StudyPlan, board: str, made: Collection[PlannedRun], decided: Collection[tuple[str, str]]
) -> Iterator[PlannedRun]:
    """Give the runs of a board that are still to be made.

    decided: comparisons that are over, by load and variant. A load's base is run as long as any
    of its variants is not decided.
    """
    base = plan.variants[0].name
    open_loads = {
        load.name: {one.name for one in plan.variants[1:] if (load.name, one.name) not in decided}
        for load in plan.loads
    }
    for place in order(plan, board):
        wanted = open_loads[place.load]
        if place not in made and wanted and place.variant in {base, *wanted}:
            yield place
