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
        applied = self._apply(knobs_of(self._plan, hybrid.in_force, second_base=hybrid.fast_base))
        return nullcontext(WithKnobs(applied, hybrid.in_force))

    def _apply(self, knobs: dict[str, str]) -> Applied:
        return apply_knobs(self._plan.study.request, knobs, self._plan.study.knobs)


def problem_of(plan: BisectPlan) -> Problem:
    """Return what is to be searched.

    The variants are of one board: where no knob is kept, nothing differs beside the items, and
    every hybrid is built on the first one.
    """
    return Problem(
        items=len(plan.items),
        seed=plan.study.seed,
        both_bases=bool(_kept(plan)),
        margin=plan.margin,
        budget=plan.runs,
        boards=len(plan.study.boards),
        width=max(2, len(plan.study.boards)),
    )


def knobs_of(plan: BisectPlan, in_force: Bools, *, second_base: bool = False) -> dict[str, str]:
    """Return the knobs of a hybrid: of these items the second variant's value, else the first's.

    second_base: the knobs that are kept are those of the second variant.
    """
    first, second = plan.first.knobs, plan.second.knobs
    from_second = {
        knob.name
        for group, chosen in zip(plan.groups, in_force, strict=True)
        for knob in group
        if chosen
    }
    if second_base:
        from_second |= _kept(plan)
    knobs: dict[str, str] = {}
    for knob in {**first, **second}:
        value = (second if knob in from_second else first).get(knob)
        if value is not None:
            knobs[knob] = value
    return knobs


def _kept(plan: BisectPlan) -> set[str]:
    """Return the knobs in which the variants differ and that no hybrid exchanges."""
    first, second = plan.first.knobs, plan.second.knobs
    exchanged = {knob.name for group in plan.groups for knob in group}
    differing = {knob for knob in {**first, **second} if first.get(knob) != second.get(knob)}
    return differing - exchanged
