"""Hybrids of two variants, as the search and as the boards have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from whylate.bisect.settings.model import BisectPlan, MadeRun
from whylate.stats.arrays import Bools
from whylate.stats.search.model import Hybrid, Problem, Purpose, Run


def problem_of(plan: BisectPlan) -> Problem:
    """Return what is to be searched.

    The variants are of one board, so that nothing differs beside the items: every hybrid is built
    on the first one.
    """
    return Problem(
        items=len(plan.items),
        seed=plan.study.seed,
        both_bases=False,
        margin=plan.margin,
        budget=plan.runs,
        boards=len(plan.study.boards),
        width=max(2, len(plan.study.boards)),
    )


def knobs_of(plan: BisectPlan, in_force: Bools) -> dict[str, str]:
    """Return the knobs of a hybrid: of these items the second variant's value, else the first's."""
    first, second = plan.first.knobs, plan.second.knobs
    from_second = {item.knob for item, chosen in zip(plan.items, in_force, strict=True) if chosen}
    knobs: dict[str, str] = {}
    for knob in {**first, **second}:
        value = (second if knob in from_second else first).get(knob)
        if value is not None:
            knobs[knob] = value
    return knobs


def chosen_names(plan: BisectPlan, in_force: Bools) -> list[str]:
    """Return the knobs that have the second variant's value."""
    return [item.knob for item, chosen in zip(plan.items, in_force, strict=True) if chosen]


def history_of(plan: BisectPlan, runs: Sequence[MadeRun]) -> list[Run]:
    """Return runs as the search takes them, in their order."""
    boards = {name: number for number, name in enumerate(plan.study.boards)}
    return [_run(plan, made, boards[made.board]) for made in runs]


def _run(plan: BisectPlan, made: MadeRun, board: int) -> Run:
    planned = Hybrid(
        in_force=_bools(plan, made.planned),
        fast_base=made.base == "second",
        board=board,
        purpose=Purpose(made.purpose),
        target=tuple(made.target),
        opened=tuple(made.opened),
    )
    return Run(planned, _bools(plan, made.in_force), made.value, board)


def _bools(plan: BisectPlan, names: Sequence[str]) -> Bools:
    chosen = frozenset(names)
    return np.array([item.knob in chosen for item in plan.items], bool)
