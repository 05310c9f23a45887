"""Hybrids of two variants: their knobs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from whylate.bisect.sets.provision import Provisioned, WithKnobs
from whylate.bisect.settings.model import BisectPlan
from whylate.run.knobs.apply import Applied, apply_knobs
from whylate.stats.arrays import Bools
from whylate.stats.search.model import Hybrid, Problem
from whylate.study.check import check_knobs


class KnobProvisioner:
    """Sets knobs; raises RequestError for one that is unknown."""

    def __init__(self, plan: BisectPlan) -> None:
        check_knobs(plan.study)
        self._plan = plan
        self.sets = plan.sets
        self.problem = problem_of(plan)
        self.sides = [self._apply(variant.knobs) for variant in plan.study.variants]

    def prepare(self, hybrids: Sequence[Hybrid]) -> None:
        """Nothing is to be made."""

    def provision(self, hybrid: Hybrid) -> AbstractContextManager[Provisioned]:
        """Return the knobs of a hybrid; raises RequestError."""
        applied = self._apply(knobs_of(self._plan, hybrid.in_force))
        return nullcontext(WithKnobs(applied, hybrid.in_force))

    def _apply(self, knobs: dict[str, str]) -> Applied:
        return apply_knobs(self._plan.study.request, knobs, self._plan.study.knobs)


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
    from_second = {item.key for item, chosen in zip(plan.items, in_force, strict=True) if chosen}
    knobs: dict[str, str] = {}
    for knob in {**first, **second}:
        value = (second if knob in from_second else first).get(knob)
        if value is not None:
            knobs[knob] = value
    return knobs
