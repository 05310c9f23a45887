"""Atoms: what is set together, because it is in a closed group or because it must be.

An atom is closed as long as nothing points to it: a package is one until it is a culprit, and then
its files are. What a flat list has too many of is put into groups in its order, so that at most
about MOST atoms are looked at together. Items that do not run apart (a library of one release with
the loader of another) are learned from the hybrids that did not run, and become one atom.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from whylate.stats.arrays import Bools, Floats, Int64s
from whylate.stats.search.model import Group, Items, Problem, Purpose, Run

#: Most children of a group that are looked at together.
MOST = 64
#: A hybrid that nothing is wrong with does not run with this probability, and one that has parted
#: what belongs together runs with the same.
UNTESTABLE_RATE = 0.07
#: Prior probability that any two given atoms must not be parted, in one direction: over all pairs.
_PRIOR_PARTED = 0.1
#: Hybrids in which an atom that can be set is on the other side from the base.
_ENOUGH = 20
#: Posterior odds from which on two atoms become one.
_TIED_ODDS = 5.0


@dataclass(frozen=True)
class Atoms:
    """sets: of items, disjoint, shape of the whole; the last atom holds the rest, maybe others.

    groups: of each atom those that are closed; () where it cannot be opened.
    """

    sets: tuple[Items, ...]
    groups: tuple[tuple[Group, ...], ...]

    def __len__(self) -> int:
        return len(self.sets)

    @cached_property
    def place(self) -> Int64s:
        """Of each item its atom, the rest last, shape (items + 1,)."""
        place = np.zeros(sum(len(items) for items in self.sets), np.int64)
        for atom, items in enumerate(self.sets):
            place[list(items)] = atom
        return place

    def columns(self, history: Sequence[Run]) -> Bools:
        """Return which atoms are on the fast side in each run, shape (runs, atoms).

        An atom that a board has set in part has the side of most of its items.
        """
        chosen: Bools = 2 * self.fast_items(history) > self.sizes
        return chosen

    def are_whole(self, history: Sequence[Run]) -> Bools:
        """Return whether each run has every atom wholly on one side, shape (runs,)."""
        count = self.fast_items(history)
        whole: Bools = ((count == 0) | (count == self.sizes)).all(axis=1)
        return whole

    @cached_property
    def sizes(self) -> Int64s:
        """How many items each atom has, shape (atoms,)."""
        return np.array([len(items) for items in self.sets])

    def fast_items(self, history: Sequence[Run]) -> Int64s:
        """Return how many items of each atom are on the fast side, shape (runs, atoms)."""
        if not history:
            return np.zeros((0, len(self)), np.int64)
        rows = np.array([run.in_force for run in history], np.float64)
        base = np.array([run.planned.fast_base for run in history], np.float64)
        count = np.column_stack([rows, base]) @ (self.place[:, None] == np.arange(len(self)))
        whole: Int64s = count.astype(np.int64)
        return whole

    def holding(self, items: Collection[int]) -> tuple[int, ...]:
        """Return the atoms that have any of these items, ascending."""
        return tuple(sorted({int(self.place[item]) for item in items}))


def hierarchy_of(problem: Problem) -> Int64s:
    """Return labels of every level, items last, shape (items, levels).

    Where a group has more than MOST children, levels of groups of neighbours are put between.
    """
    given = np.zeros((problem.items, 0), np.int64) if problem.groups is None else problem.groups
    parent = np.zeros(problem.items, np.int64)
    columns: list[Int64s] = []
    for column in [*given.T, np.arange(problem.items)]:
        # A label counts within its parent.
        _, label = np.unique(np.column_stack([parent, column]), axis=0, return_inverse=True)
        label = label.ravel().astype(np.int64)
        between: list[Int64s] = []
        finer = label
        while (crowded := _children(parent, finer)) > MOST:
            size = min(MOST // 2, -(-crowded // MOST))
            coarse = _chunks(parent, finer, max(size, 2))
            between.insert(0, coarse)
            finer = coarse
        columns += [*between, label]
        parent = label
    return np.column_stack(columns)


def _children(parent: Int64s, label: Int64s) -> int:
    """Return the most labels that a parent has."""
    pairs = np.unique(np.column_stack([parent, label]), axis=0)
    return int(np.bincount(pairs[:, 0]).max())


def _chunks(parent: Int64s, label: Int64s, size: int) -> Int64s:
    """Label groups of so many neighbours of one parent."""
    pairs, inverse = np.unique(np.column_stack([parent, label]), axis=0, return_inverse=True)
    first = np.searchsorted(pairs[:, 0], pairs[:, 0])
    rank = (np.arange(len(pairs)) - first) // size
    _, chunk = np.unique(np.column_stack([pairs[:, 0], rank]), axis=0, return_inverse=True)
    return chunk.ravel().astype(np.int64)[inverse.ravel()]


def opened_groups(history: Sequence[Run]) -> frozenset[Group]:
    """Return the groups that are open."""
    return frozenset(group for run in history for group in run.planned.opened)


def make_atoms(problem: Problem, labels: Int64s, opened: Collection[Group]) -> Atoms:
    """Return the atoms while these groups are open; the rest is an atom of its own."""
    sets: dict[Group, list[int]] = {}
    last = labels.shape[1] - 1
    for item, row in enumerate(labels.tolist()):
        level = next(
            (level for level in range(last) if (level, row[level]) not in opened), last
        )  # fmt: skip
        sets.setdefault((level, row[level]), []).append(item)
    closed = tuple((group,) if group[0] < last and len(items) > 1 else ()
                   for group, items in sets.items())  # fmt: skip
    return Atoms((*(tuple(items) for items in sets.values()), (problem.rest,)), (*closed, ()))


def tie_atoms(atoms: Atoms, history: Sequence[Run]) -> tuple[Atoms, Floats]:
    """Put together atoms that do not run apart, and say how likely pairs are to be such.

    Returns the new atoms, and the probability that a hybrid with the row's atom fast and the
    column's slow does not run for that reason, shape (atoms, atoms). Of each pair and direction:
    the likelihood ratio of "those hybrids do not run" to "nothing is wrong with them". What was on
    the side of the base in every hybrid, because boards do not take it, belongs to the rest.
    """
    hybrids = [run for run in history if run.planned.purpose is not Purpose.END]
    atoms = _tie_to_base(atoms, hybrids)
    while True:
        odds = _parted_odds(atoms, hybrids)
        either = odds + odds.T
        first, second = np.unravel_index(int(either.argmax()), either.shape)
        if either[first, second] < _TIED_ODDS:
            return atoms, odds / (1 + odds)
        atoms = _merge(atoms, int(first), int(second))


def _tie_to_base(atoms: Atoms, hybrids: Sequence[Run]) -> Atoms:
    """Put atoms that never left the side of the base into the atom of the rest."""
    if len(hybrids) < _ENOUGH:
        return atoms
    fast = atoms.columns(hybrids)
    same = (fast == fast[:, -1:]).all(axis=0)
    for atom in np.flatnonzero(same[:-1])[::-1].tolist():
        atoms = _merge(atoms, atom, len(atoms) - 1)
    return atoms


def _parted_odds(atoms: Atoms, hybrids: Sequence[Run]) -> Floats:
    """Return the posterior odds of each direction of each pair."""
    count = len(atoms)
    if not hybrids:
        return np.zeros((count, count))
    fast = atoms.columns(hybrids).astype(float)
    runs = np.array([run.outcome is not None for run in hybrids])
    # What has parted the items of an atom says so itself.
    fails = ~runs & atoms.are_whole(hybrids)
    ratio = np.log((1 - UNTESTABLE_RATE) / UNTESTABLE_RATE)
    evidence = np.where(fails, ratio, np.where(runs, -ratio, 0.0))
    log_odds = fast.T @ (evidence[:, None] * (1 - fast))
    prior = _PRIOR_PARTED / max(count * (count - 1), 1)
    odds: Floats = prior * np.exp(np.minimum(log_odds, 50.0))
    np.fill_diagonal(odds, 0.0)
    return odds


def _merge(atoms: Atoms, first: int, second: int) -> Atoms:
    """Put two atoms together, at the place of the later, where the rest stays last."""
    early, late = sorted((first, second))
    sets, groups = list(atoms.sets), list(atoms.groups)
    sets[late] = tuple(sorted((*sets[early], *sets[late])))
    groups[late] = (*groups[early], *groups[late])
    del sets[early], groups[early]
    return Atoms(tuple(sets), tuple(groups))
