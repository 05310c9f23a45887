"""How far a search is: which atoms probably belong to the answer, and how many runs are left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.search.atoms import hierarchy_of, opened_groups
from whylate.stats.search.design import FIRST
from whylate.stats.search.ends import Ends, judge_ends, needed_runs
from whylate.stats.search.machine import view_of
from whylate.stats.search.model import Candidate, Problem, Purpose, Run

#: Less probable atoms are not listed.
_LEAST = 0.02


@dataclass(frozen=True)
class Standing:
    """The state of a search.

    leading: atoms, and the posterior probability that each is in the set that makes the gap, the
    best first; () before that can be said. runs: about how many the whole search takes, both ends
    too, None: not known yet.
    """

    leading: tuple[Candidate, ...]
    runs: int | None


def standing_of(problem: Problem, history: Sequence[Run], most: int) -> Standing:
    """Return the state of a search after these runs; most: atoms that are listed."""
    state, gap = judge_ends(history)
    if state is not Ends.GAP or gap is None:
        return Standing((), None)
    runs = min(needed_runs(gap.in_sd), problem.budget)
    hybrids = sum(run.planned.purpose is not Purpose.END for run in history)
    if hybrids < FIRST:
        return Standing((), runs)
    view = view_of(problem, hierarchy_of(problem), opened_groups(history), history)
    in_set = np.zeros(len(view.atoms))
    for chosen, probability in zip(view.posterior.sets, view.posterior.probability, strict=True):
        in_set[list(chosen)] += probability
    best = [place for place in np.argsort(-in_set, kind="stable")[:most].tolist()
            if in_set[place] >= _LEAST]  # fmt: skip
    leading = tuple(Candidate(view.atoms.sets[place], float(in_set[place])) for place in best)
    return Standing(leading, runs)
