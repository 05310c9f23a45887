"""Which hybrid to run next: the one whose outcome says most about the set.

Candidates are drawn at random, and the mutual information between outcome and level is computed
for each under the posterior. As long as nothing is known, the hybrids are halves drawn at random
and their complements.
"""

from __future__ import annotations

import numpy as np

from whylate.stats.arrays import Bools, Floats
from whylate.stats.search.atoms import Atoms
from whylate.stats.search.levels import LEVELS
from whylate.stats.search.model import Problem
from whylate.stats.search.noise import log_t
from whylate.stats.search.sets import Posterior

#: Hybrids before the posterior is asked.
FIRST = 16
#: Candidates with each of these parts of the atoms on the fast side.
_CANDIDATES, _DRAWN_PARTS = 32, (0.2, 0.35, 0.5, 0.65, 0.8)
#: Parts of the atoms on the fast side: what needs two is better seen away from a half.
_PARTS = (0.5, 0.3, 0.5, 0.7)
_GRID = np.linspace(-2.5, 3.5, 121)


def draw(
    rng: np.random.Generator, atoms: Atoms, both_bases: bool, part: float, count: int
) -> Bools:
    """Draw settings of atoms, each with this part of them fast, bool, shape (count, atoms).

    The rest is fast by chance of a half, or never where hybrids are built on the slow side alone.
    """
    number = len(atoms) - 1
    exact = round(part * number)
    ranks = rng.random((count, number)).argsort(axis=1).argsort(axis=1)
    base = rng.random(count) < 0.5 if both_bases else np.zeros(count, bool)
    return np.column_stack([ranks < exact, base])


def first_hybrids(
    rng: np.random.Generator, atoms: Atoms, problem: Problem, done: int, count: int
) -> Bools:
    """Return random halves and their complements, shape (count, atoms)."""
    rows: list[Bools] = []
    while len(rows) < count:
        part = _PARTS[(done + len(rows)) // 2 % len(_PARTS)]
        half = draw(rng, atoms, problem.both_bases, part, 1)[0]
        other = ~half
        other[-1] &= problem.both_bases
        rows += [half, other]
    return np.array(rows[:count])


def best_hybrids(
    rng: np.random.Generator,
    atoms: Atoms,
    problem: Problem,
    posterior: Posterior,
    parted: Floats,
    count: int,
) -> Bools:
    """Return the best hybrids of as many draws, shape (count, atoms).

    parted: how likely a pair's parting keeps a hybrid from running.
    """
    chosen: list[Bools] = []
    for _ in range(count):
        rows = np.concatenate(
            [draw(rng, atoms, problem.both_bases, part, _CANDIDATES) for part in _DRAWN_PARTS]
        )
        worth = information(rows, posterior) * _runs(rows, parted)
        chosen.append(rows[int(worth.argmax())])
    return np.array(chosen)


def expand(rows: Bools, atoms: Atoms) -> Bools:
    """Return the settings of items, the rest last, shape (rows, items + 1)."""
    return rows[:, atoms.place]


def information(rows: Bools, posterior: Posterior) -> Floats:
    """Return the mutual information of each row's outcome and level, in nats, shape (rows,)."""
    level = np.zeros((len(rows), len(LEVELS)))
    for chosen, probability, levels in zip(
        posterior.sets, posterior.probability, posterior.levels, strict=True
    ):
        setting = rows[:, list(chosen)] @ (1 << np.arange(len(chosen)))
        level += probability * levels[setting]
    level /= level.sum(axis=1, keepdims=True)
    density = np.exp(log_t(_GRID[:, None] - LEVELS[None, :], posterior.scale))
    density /= density.sum(axis=0)
    noise = -(density * np.log(density + 1e-300)).sum(axis=0)
    mixed = level @ density.T
    entropy: Floats = -(mixed * np.log(mixed + 1e-300)).sum(axis=1) - level @ noise
    return entropy


def _runs(rows: Bools, parted: Floats) -> Floats:
    """Return how likely each row is to run."""
    on = rows.astype(float)
    with np.errstate(divide="ignore"):
        log_whole = np.log(np.maximum(1 - parted, 1e-3))
    runs: Floats = np.exp(np.einsum("ri,ij,rj->r", on, log_whole, 1 - on, optimize=True))
    return runs
