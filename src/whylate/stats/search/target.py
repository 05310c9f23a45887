"""Runs that resolve and confirm one set: which hybrids, and which kind each run was.

A setting is a number: bit i is 1 where member i of the target is on the fast side. The context is
the side of all that is not in the target. The slow context with all members fast asks "slow with
the set of the fast side", the fast context with all members slow "fast with that of the slow side".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Bools, Int64s
from whylate.stats.search.arms import FAST, SLOW, reference_arms
from whylate.stats.search.atoms import Atoms
from whylate.stats.search.model import Hybrid, Items, Problem, Purpose, Run

#: An arm that nothing has run of after so many tries is tried with a part of the others changed.
_TRIES = 2
_OTHER_PART = 0.1


@dataclass(frozen=True)
class Target:
    """members: atoms of items, each ascending; items: all of them, as a run's plan has them."""

    members: tuple[Items, ...]
    rest: int

    @property
    def items(self) -> Items:
        """All items, ascending."""
        return tuple(sorted(item for member in self.members for item in member))

    @property
    def full(self) -> int:
        """The setting with all members fast."""
        return (1 << len(self.members)) - 1

    @property
    def has_rest(self) -> bool:
        """Whether what differs beside the items is a member."""
        return self.rest in self.items

    def setting_of(self, run: Run) -> int:
        """Return the setting that was really in force, -1: a member was in force in part."""
        setting = 0
        for place, member in enumerate(self.members):
            sides = {run.planned.fast_base if item == self.rest else bool(run.in_force[item])
                     for item in member}  # fmt: skip
            if len(sides) > 1:
                return -1
            setting |= sides.pop() << place
        return setting

    def context_of(self, run: Run) -> bool:
        """Return the side of most of the others."""
        others = np.delete(run.in_force, [item for item in self.items if item != self.rest])
        if self.has_rest or len(others):
            return bool(2 * others.sum() > len(others))
        return run.planned.fast_base


def target_of(atoms: Atoms, chosen: Sequence[int], rest: int) -> Target:
    """Return the target of a set of atoms."""
    return Target(tuple(sorted(atoms.sets[atom] for atom in chosen)), rest)


def fresh_runs(history: Sequence[Run], target: Target) -> Bools:
    """Return which runs were made for this target, shape (runs,)."""
    return np.array(
        [
            run.planned.purpose in (Purpose.RESOLVE, Purpose.CONFIRM)
            and run.planned.target == target.items
            for run in history
        ],
        bool,
    )


def arm_of(context: bool, setting: int, target: Target) -> int:
    """Return the number of an arm; the two ends have SLOW and FAST."""
    if not context and setting == 0:
        return SLOW
    if context and setting == target.full:
        return FAST
    return 2 + 2 * setting + int(context)


def of_arm(number: int, target: Target) -> tuple[bool, int]:
    """Return the context and the setting of an arm."""
    if number in (SLOW, FAST):
        return number == FAST, target.full if number == FAST else 0
    return bool((number - 2) & 1), (number - 2) >> 1


def arms_of(history: Sequence[Run], target: Target) -> Int64s:
    """Return the arm of each reference and fresh run, else -1, shape (runs,)."""
    arm = reference_arms(history)
    for place in np.flatnonzero(fresh_runs(history, target)).tolist():
        run = history[place]
        setting = target.setting_of(run)
        if run.outcome is not None and setting >= 0:
            arm[place] = arm_of(target.context_of(run), setting, target)
    return arm


def build(
    problem: Problem, target: Target, context: bool, setting: int, history: Sequence[Run]
) -> Bools | None:
    """Return the items (the rest last) of a hybrid of an arm, None: it cannot be built.

    An arm whose hybrid does not run is tried with a tenth of the other items changed, chosen by the
    seed and the number of tries.
    """
    row: Bools = np.full(problem.items + 1, context)
    row[-1] = context and problem.both_bases
    tries = [run.outcome is not None for run, fresh in
             zip(history, fresh_runs(history, target), strict=True)
             if fresh and target.context_of(run) == context
             and target.setting_of(run) == setting]  # fmt: skip
    if len(tries) >= _TRIES and not any(tries[:_TRIES]):
        rng = np.random.default_rng([problem.seed, len(tries), setting, int(context)])
        last_that_ran = next((place for place, runs in enumerate(tries) if runs), None)
        if last_that_ran is not None:
            rng = np.random.default_rng([problem.seed, last_that_ran, setting, int(context)])
        row[:-1] ^= rng.random(problem.items) < _OTHER_PART
    for place, member in enumerate(target.members):
        row[list(member)] = bool(setting >> place & 1)
    if row[-1] and not problem.both_bases:
        return None
    return row


def plan_arms(
    problem: Problem,
    target: Target,
    arms: Sequence[tuple[bool, int]],
    history: Sequence[Run],
    purpose: Purpose,
) -> list[Hybrid]:
    """Return a run of each of these arms (context and setting) that can be built."""
    planned: list[Hybrid] = []
    for context, setting in arms:
        row = build(problem, target, context, setting, history)
        if row is not None:
            board = (len(history) + len(planned)) % problem.boards
            planned.append(Hybrid(row[:-1], bool(row[-1]), board, purpose, target.items))
    return planned
