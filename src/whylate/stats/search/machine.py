"""The search as a state machine: what was run so far in, the next runs or the answer out.

The stages: both ends; hybrids that say most about which set makes the gap, until a set is probable;
that set resolved and confirmed by fresh runs. A set that is refuted leaves its runs behind, and the
search goes on with them. The machine has no memory but the history, so a plan that was killed asks
again with the runs of its journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from whylate.stats.arrays import Bools, Floats, Int64s
from whylate.stats.search.atoms import (
    Atoms,
    hierarchy_of,
    make_atoms,
    opened_groups,
    tie_atoms,
)
from whylate.stats.search.confirm import Outcome, judge_target, measure
from whylate.stats.search.design import FIRST, best_hybrids, expand, first_hybrids
from whylate.stats.search.ends import (
    Ends,
    end_of,
    is_too_small,
    judge_ends,
    level_of,
    needed_runs,
    plan_ends,
)
from whylate.stats.search.model import (
    Answer,
    Candidate,
    Culprits,
    ExplainsPart,
    Gap,
    GapTooSmall,
    Group,
    Hybrid,
    NoGap,
    NotAmong,
    Problem,
    Purpose,
    Run,
    Undecided,
)
from whylate.stats.search.sets import Posterior, fit_sets, without_unseen
from whylate.stats.search.target import Target, target_of

#: A set this probable is confirmed; an atom this probable is opened.
PROBABLE, OPENED = 0.85, 0.8
#: Prior odds that the rest is a culprit, as a part of those of all items together.
_REST_WEIGHT = 0.1
#: After so many hybrids a run of an end, against drift.
_REFERENCE_EVERY = 12


@dataclass(frozen=True)
class View:
    """What the history says of the sets."""

    atoms: Atoms
    posterior: Posterior
    parted: Floats


def advance(problem: Problem, history: Sequence[Run]) -> tuple[Hybrid, ...] | Answer:
    """Return the next runs, or the answer. The same problem and history give the same."""
    rng = np.random.default_rng([problem.seed, len(history)])
    state, gap = judge_ends(history)
    if state is Ends.UNTESTABLE:
        return Undecided(gap, (), "an end does not run")
    if state is Ends.NO_GAP and gap is not None:
        return NoGap(gap)
    if state is Ends.UNDECIDED or gap is None:
        if len(history) >= problem.budget:
            return Undecided(gap, (), "the budget ends before both ends are known")
        return tuple(plan_ends(problem, history, rng))
    screened = any(run.planned.purpose is not Purpose.END for run in history)
    if not screened and is_too_small(gap, problem.budget):
        return GapTooSmall(gap, needed_runs(gap.in_sd))
    return _search(problem, history, gap, rng)


def _search(
    problem: Problem, history: Sequence[Run], gap: Gap, rng: np.random.Generator
) -> tuple[Hybrid, ...] | Answer:
    labels, opened = hierarchy_of(problem), opened_groups(history)
    live = _live_target(problem, labels, opened, history)
    step = None if live is None else _step(problem, live, history, gap, opened, labels)
    if step is not None:
        return step
    count = sum(run.planned.purpose is not Purpose.END for run in history)
    if not count and len(history) >= problem.budget:
        return Undecided(gap, (), "the budget ends with the runs of both ends")
    if count < FIRST and len(history) < problem.budget:
        atoms, _ = tie_atoms(make_atoms(problem, labels, opened), history)
        rows = first_hybrids(rng, atoms, problem, count, problem.batch)
        return _screen(problem, history, rows, atoms, opened)
    view = view_of(problem, labels, opened, history)
    while (groups := _groups_to_open(view)) - opened:
        opened |= groups
        view = view_of(problem, labels, opened, history)
    chosen, probability = view.posterior.best
    if len(history) >= problem.budget:
        return _given_up(view, gap, problem)
    if probability >= PROBABLE:
        target = target_of(view.atoms, chosen, problem.rest)
        step = _step(problem, target, history, gap, opened, None)
        if step is not None:
            return step
    rows = best_hybrids(rng, view.atoms, problem, view.posterior, view.parted, problem.batch)
    return _screen(problem, history, rows, view.atoms, opened)


def _step(
    problem: Problem,
    target: Target,
    history: Sequence[Run],
    gap: Gap,
    opened: frozenset[Group],
    labels: Int64s | None,
) -> tuple[Hybrid, ...] | Answer | None:
    """Return the next runs of a set under confirmation or its answer, None: leave the set.

    labels: where the set may have become improbable, to look at that; None: it is the best.
    """
    judgement = judge_target(problem, target, history)
    if judgement.outcome is Outcome.CONFIRMED:
        return _answer(problem, target, history, gap)
    if judgement.needed:
        # The noise had added the others: these are confirmed, or refuted, by runs of their own.
        reduced = Target(judgement.needed, problem.rest)
        return _step(problem, reduced, history, gap, opened, None)
    if judgement.outcome is not Outcome.UNDECIDED:
        return None
    if labels is not None and len(history) >= problem.budget:
        return _given_up(view_of(problem, labels, opened, history), gap, problem)
    if labels is not None and judgement.doubtful:
        view = view_of(problem, labels, opened, history)
        if not _still_probable(target, view, problem):
            return None
    return _with_opened(judgement.planned, opened)


def _still_probable(target: Target, view: View, problem: Problem) -> bool:
    """Whether the runs of a target have left it more probable than not."""
    return any(
        target_of(view.atoms, chosen, problem.rest).items == target.items and probability >= 0.5
        for chosen, probability in zip(
            view.posterior.sets[:3], view.posterior.probability, strict=False
        )
    )


def view_of(
    problem: Problem, labels: Int64s, opened: frozenset[Group], history: Sequence[Run]
) -> View:
    """Return the atoms and the posterior after these runs."""
    atoms, parted = tie_atoms(make_atoms(problem, labels, opened), history)
    runs = level_of(history)
    used = np.isfinite(runs.level) & [run.planned.purpose is not Purpose.END for run in history]
    fast = atoms.columns(history)[used].astype(float)
    hybrids = replace(runs, level=runs.level[used], extra=runs.extra[used])
    posterior = fit_sets(fast, hybrids, _weights(problem, atoms))
    if not problem.both_bases:
        posterior = without_unseen(posterior, len(atoms) - 1)
    return View(atoms, posterior, parted)


def _weights(problem: Problem, atoms: Atoms) -> Floats:
    """Return the prior odds of atoms: the sum of their items', and that of the rest."""
    items = np.ones(problem.items) if problem.weight is None else problem.weight
    every = np.r_[items, _REST_WEIGHT * items.sum()]
    return np.array([every[list(members)].sum() for members in atoms.sets])


def _groups_to_open(view: View) -> frozenset[Group]:
    """Return the groups of atoms that are probably in the set, whatever else is."""
    in_set = np.zeros(len(view.atoms))
    for chosen, probability in zip(view.posterior.sets, view.posterior.probability, strict=True):
        in_set[list(chosen)] += probability
    return frozenset(
        group for atom in np.flatnonzero(in_set >= OPENED) for group in view.atoms.groups[atom]
    )


def _live_target(
    problem: Problem, labels: Int64s, opened: frozenset[Group], history: Sequence[Run]
) -> Target | None:
    """Return the set that the last runs were made for, None: they were for none."""
    last = next(
        (run.planned for run in reversed(history) if run.planned.purpose is not Purpose.END), None
    )
    if last is None or not last.target:
        return None
    atoms, _ = tie_atoms(make_atoms(problem, labels, opened), _before(history, last))
    return target_of(atoms, atoms.holding(last.target), problem.rest)


def _before(history: Sequence[Run], planned: Hybrid) -> list[Run]:
    """Return the runs before those of this target: by them its atoms were made."""
    first = next(
        place for place, run in enumerate(history) if run.planned.target == planned.target
    )  # fmt: skip
    return list(history[:first])


def _screen(
    problem: Problem, history: Sequence[Run], rows: Bools, atoms: Atoms, opened: frozenset[Group]
) -> tuple[Hybrid, ...]:
    """Return hybrids to screen with, and now and then a run of an end among them."""
    screened = sum(run.planned.purpose is Purpose.SCREEN for run in history)
    planned: list[Hybrid] = []
    for number, row in enumerate(expand(rows, atoms)):
        board = (len(history) + number) % problem.boards
        planned.append(Hybrid(row[:-1], bool(row[-1]), board, Purpose.SCREEN))
        due, past = divmod(screened + number + 1, _REFERENCE_EVERY)
        if past == 0:
            planned.append(end_of(problem, due % 2 == 0, due // 2 % problem.boards))
    return _with_opened(planned, opened)


def _with_opened(
    planned: Sequence[Hybrid], opened: frozenset[Group]
) -> tuple[Hybrid, ...]:  # fmt: skip
    return tuple(replace(hybrid, opened=tuple(sorted(opened))) for hybrid in planned)


def _answer(problem: Problem, target: Target, history: Sequence[Run], gap: Gap) -> Answer:
    """Return the answer that a confirmed set is."""
    confirmation, effects, share = measure(problem, target, history)
    rest = next((member for member in target.members if problem.rest in member), ())
    own = tuple(effect for effect in effects if effect.item not in rest)
    atoms = tuple(member for member in target.members if len(member) > 1 and member != rest)
    not_set = tuple(item for item in rest if item != problem.rest)
    if not rest:
        return Culprits(gap, own, confirmation, atoms)
    if len(target.members) == 1:
        return NotAmong(gap, confirmation, not_set)
    if share is None:
        candidate = Candidate(target.items, 1.0)
        return Undecided(gap, (candidate,), "the hybrids that measure its share do not run")
    return ExplainsPart(gap, own, share, confirmation, atoms, not_set)


def _given_up(view: View, gap: Gap, problem: Problem) -> Undecided:
    candidates = tuple(
        Candidate(target_of(view.atoms, chosen, problem.rest).items, float(probability))
        for chosen, probability in list(
            zip(view.posterior.sets, view.posterior.probability, strict=True)
        )[:5]
    )
    return Undecided(gap, candidates, f"the budget of {problem.budget} runs is used up")
