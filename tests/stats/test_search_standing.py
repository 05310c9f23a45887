"""What a search shows while it goes."""

from __future__ import annotations

import numpy as np

from whylate.stats.search.machine import advance
from whylate.stats.search.model import Problem, Run
from whylate.stats.search.standing import standing_of

CULPRIT = 2


def history_of(problem: Problem, most: int) -> list[Run]:
    """Return the runs of a search in which one item makes the gap."""
    rng = np.random.default_rng(1)
    history: list[Run] = []
    while len(history) < most and isinstance(step := advance(problem, history), tuple):
        history += [
            Run(hybrid, hybrid.in_force, float(hybrid.in_force[CULPRIT] + rng.normal(0, 0.05)))
            for hybrid in step
        ]
    return history


def test_the_culprit_leads_and_the_runs_left_are_known_after_the_ends() -> None:
    problem = Problem(items=12, seed=3, both_bases=False)
    history = history_of(problem, 48)
    assert standing_of(problem, history[:6], 4).runs is None
    after_ends = standing_of(problem, history[:22], 4)
    assert after_ends.leading == ()
    assert after_ends.runs is not None
    assert after_ends.runs < problem.budget
    leading = standing_of(problem, history, 4).leading
    assert leading[0].items == (CULPRIT,)
    assert leading[0].probability > 0.9
    assert len(leading) <= 4
