"""Which sets of atoms make the gap: the posterior over sets of up to four.

A set is the whole answer where its setting alone decides an outcome: with all of it slow the run is
at the slow end (level 0), with all of it fast at the fast end (level 1), and each mixture has a
level of its own, whatever the others do. So two that need each other, two that add up and three of
any kind are the same model, with other levels (levels.py). The levels are summed out, exactly and
with Student's t for the noise.

All pairs are looked at. Three and four are grown from the best of them. What is but a part of an
answer looks like noise of two values, because the missing atoms are on either side by chance: it is
ranked by mixtures of both ends.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.search.levels import AT_FAST, AT_SLOW, LEVELS
from whylate.stats.search.likelihood import (
    complete,
    formed,
    levels_of,
    log_sum,
    setting_sums,
    sum_pairs,
)
from whylate.stats.search.noise import Levels, log_t, refit

#: Parts of the fast end where some of an answer is missing.
_PARTS = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
#: Prior probability of so many atoms in the answer.
SIZE_PRIOR = (0.55, 0.28, 0.13, 0.04)
MOST_ATOMS = len(SIZE_PRIOR)
#: Sets that are grown, by size, of each ranking.
_GROWN = {2: 40, 3: 12}
#: Four are tried where the best three are within so many nats of the best.
_NEAR = 8.0
#: Sets of each size that are scored with free levels and the ends fitted anew: the best of those
#: with a form, and of those that may be a part. Sets that are kept.
_BEST, _BEST_PARTS, _KEPT = 200, 60, 80
#: A level below it is none.
_NOTHING = 0.15


@dataclass(frozen=True)
class Posterior:
    """sets: of atoms, each ascending, the most probable first. probability: theirs, (sets,).

    levels: of each set the posterior of the level of each setting, shape (2^k, levels); of the
    setting's number atom i of the set has the bit i. scale: the posterior mean of the noise's.
    """

    sets: tuple[tuple[int, ...], ...]
    probability: Floats
    levels: tuple[Floats, ...]
    scale: float

    @property
    def best(self) -> tuple[tuple[int, ...], float]:
        """The most probable set, and its probability."""
        return self.sets[0], float(self.probability[0])


@dataclass(frozen=True)
class _Ranked:
    """Sets of one size, their log scores as whole answers, and as parts of one; (sets,)."""

    sets: Int64s
    whole: Floats
    part: Floats

    def best(self, whole: int, part: int) -> Int64s:
        """Return the best by either score."""
        chosen = np.union1d(np.argsort(-self.whole)[:whole], np.argsort(-self.part)[:part])
        return self.sets[chosen]


def fit_sets(fast: Floats, runs: Levels, weight: Floats) -> Posterior:
    """Return the posterior over sets.

    fast: 1 where an atom is on the fast side, shape (runs, atoms). runs: their levels, all finite.
    weight: prior odds of each atom, shape (atoms,). All sets are scored with the forms; the best of
    each size again, with free levels too, and with the ends, extras and noise fitted anew.
    """
    share = np.log(weight / weight.sum())
    table = log_t(runs.level[:, None] - LEVELS[None, :], runs.scale)
    chosen = [ranked.best(_BEST, _BEST_PARTS) for ranked in _rank(fast, table, share)]
    return _score(chosen, fast, runs, table, share)


def _rank(fast: Floats, pure: Floats, share: Floats) -> list[_Ranked]:
    """Return all singles and pairs, and what grows from the best of them.

    pure: the log density of each run at each level, shape (runs, levels).
    """
    with np.errstate(divide="ignore"):
        mixed = np.logaddexp(
            np.log1p(-_PARTS) + pure[:, [AT_SLOW]], np.log(_PARTS) + pure[:, [AT_FAST]]
        )
    table = np.column_stack([pure, mixed])

    atoms, pairs = fast.shape[1], sum_pairs(fast, table)

    def rank(sets: Int64s) -> _Ranked:
        sums = setting_sums(fast, sets, table, pairs)
        prior = _prior(sets, share)
        parts = log_sum(sums[:, :, len(LEVELS) :]).sum(axis=1)
        parts -= sums.shape[1] * np.log(len(_PARTS))
        return _Ranked(sets, formed(sums[:, :, : len(LEVELS)]) + prior, parts + prior)

    sizes = [rank(np.arange(atoms)[:, None])]
    if atoms > 1:
        sizes.append(rank(np.column_stack(np.triu_indices(atoms, 1)).astype(np.int64)))
    for size in range(3, min(MOST_ATOMS, atoms) + 1):
        top = max(float(each.whole.max()) for each in sizes)
        if size > 3 and float(sizes[-1].whole.max()) < top - _NEAR:
            break
        grown = _grow(sizes[-1].best(_GROWN[size - 1], _GROWN[size - 1]), atoms)
        sizes.append(rank(grown))
    return sizes


def _prior(sets: Int64s, share: Floats) -> Floats:
    """Return the log prior of sets of one size, shape (sets,)."""
    size = sets.shape[1]
    prior: Floats = np.log(SIZE_PRIOR[size - 1]) + gammaln(size + 1) + share[sets].sum(axis=1)
    return prior


def _grow(sets: Int64s, atoms: int) -> Int64s:
    """Return all sets that have one of these and one atom more."""
    more = np.repeat(sets, atoms, axis=0)
    extra = np.tile(np.arange(atoms), len(sets))
    new = (more != extra[:, None]).all(axis=1)
    grown = np.sort(np.column_stack([more, extra])[new], axis=1)
    key = grown @ (atoms ** np.arange(grown.shape[1]))
    unique: Int64s = grown[np.unique(key, return_index=True)[1]]
    return unique


def _score(
    chosen: list[Int64s], fast: Floats, runs: Levels, table: Floats, share: Floats
) -> Posterior:
    """Score sets with free levels and the ends fitted anew; return the posterior of the best.

    The gain of fitting anew is that of the most probable level of each setting.
    """
    scores, scales, levels = [], [], []
    for sets in chosen:
        sums = setting_sums(fast, sets, table)
        of_setting = levels_of(sums)
        setting = (fast[:, sets] @ (1 << np.arange(sets.shape[1]))).astype(np.int64).T
        likely = LEVELS[of_setting.argmax(axis=2)]
        gain, scale = refit(runs, np.take_along_axis(likely, setting, axis=1))
        scores.append(complete(sums) + gain + _prior(sets, share))
        scales.append(scale)
        levels += list(of_setting)
    score = np.concatenate(scores)
    probability = np.exp(score - float(log_sum(score)))
    listed = [tuple(row) for sets in chosen for row in sets.tolist()]
    order = np.argsort(-score, kind="stable")[:_KEPT].tolist()
    return Posterior(
        tuple(listed[place] for place in order),
        probability[order],
        tuple(levels[place] for place in order),
        float(probability @ np.concatenate(scales)),
    )


def without_unseen(posterior: Posterior, rest: int) -> Posterior:
    """Return the posterior where an atom, the rest, is slow in all hybrids that can be built.

    What others do together with it cannot be seen then. A set of it and others that do nothing as
    long as it is slow counts as the rest alone, and one whose others make the gap by themselves as
    those.
    """
    merged: dict[tuple[int, ...], float] = {}
    kept: list[int] = []
    for place, (chosen, levels) in enumerate(zip(posterior.sets, posterior.levels, strict=True)):
        others = tuple(atom for atom in chosen if atom != rest)
        same: tuple[int, ...] | None = None
        if rest in chosen and others:
            by_others = float(levels[len(levels) - 1 & ~(1 << chosen.index(rest))] @ LEVELS)
            same = (rest,) if abs(by_others) < _NOTHING else None
            if abs(by_others - 1) < _NOTHING and others in posterior.sets:
                same = others
        if same is None:
            kept.append(place)
        else:
            merged[same] = merged.get(same, 0.0) + float(posterior.probability[place])
    probability = np.array([
        posterior.probability[place] + merged.get(posterior.sets[place], 0.0) for place in kept
    ])  # fmt: skip
    order = [kept[place] for place in np.argsort(-probability, kind="stable")]
    return Posterior(
        tuple(posterior.sets[place] for place in order),
        -np.sort(-probability),
        tuple(posterior.levels[place] for place in order),
        posterior.scale,
    )
