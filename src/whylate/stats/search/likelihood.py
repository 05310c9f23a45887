"""How likely the outcomes are if a set of atoms makes the gap, with its levels summed out.

Everything is computed from sums: of the log likelihoods of the runs in each setting of a set, at
each level, shape (sets, 2^k, levels). Of a setting's number, member i has the bit i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.search.levels import AT_FAST, AT_SLOW, FORMED, FREE, LEVELS, forms


@dataclass(frozen=True)
class PairSums:
    """Sums of a table over all runs, over those with an atom fast, and over those with two.

    total: shape (columns,). first: shape (atoms, columns). both: shape (atoms, atoms, columns).
    """

    total: Floats
    first: Floats
    both: Floats


def sum_pairs(fast: Floats, table: Floats) -> PairSums:
    """Return the sums of runs with one and two atoms fast; shapes as in setting_sums."""
    both = np.stack([(fast.T * column) @ fast for column in table.T], axis=-1)
    return PairSums(table.sum(axis=0), fast.T @ table, both)


def setting_sums(
    fast: Floats, sets: Int64s, table: Floats, pairs: PairSums | None = None
) -> Floats:
    """Return the sums of a table in each setting of each set, shape (sets, 2^k, columns).

    fast: 1 where an atom is on the fast side, shape (runs, atoms). sets: shape (sets, k). table: of
    each run, shape (runs, columns). pairs: those of sum_pairs, where there are many sets. First
    the sums over runs with all of a subset fast, which are products of columns; then those of
    settings by inclusion and exclusion, member by member.
    """
    size = sets.shape[1]
    sums = np.empty((len(sets), 2**size, table.shape[1]))
    for subset in range(2**size):
        members = [member for member in range(size) if subset >> member & 1]
        if not members:
            sums[:, subset] = table.sum(axis=0)
        elif pairs is not None and len(members) == 1:
            sums[:, subset] = pairs.first[sets[:, members[0]]]
        elif pairs is not None and len(members) == 2:
            sums[:, subset] = pairs.both[sets[:, members[0]], sets[:, members[1]]]
        else:
            columns = [fast.T[sets[:, member]] for member in members]
            sums[:, subset] = reduce(np.multiply, columns) @ table
    for member in range(size):
        shaped = sums.reshape(len(sets), 2 ** (size - 1 - member), 2, 2**member, -1)
        shaped[:, :, 0] -= shaped[:, :, 1]
    return sums


def formed(sums: Floats) -> Floats:
    """Return the log marginal likelihood of sets that have one of the forms, shape (sets,)."""
    if sums.shape[1] == 2:
        single: Floats = sums[:, 0, AT_SLOW] + sums[:, 1, AT_FAST]
        return single
    by_form = _by_form(sums)
    likelihood: Floats = log_sum(by_form) - np.log(by_form.shape[1])
    return likelihood


def complete(sums: Floats) -> Floats:
    """Return that of sets with a form or with free levels, shape (sets,)."""
    if sums.shape[1] == 2:
        return formed(sums)
    whole: Floats = np.logaddexp(np.log(FORMED) + formed(sums), np.log(1 - FORMED) + _free(sums))
    return whole


def levels_of(sums: Floats) -> Floats:
    """Return the posterior of the level of each setting, shape (sets, 2^k, levels)."""
    count, settings, levels = sums.shape
    ends = np.arange(levels)[None, :] == np.array([AT_SLOW, AT_FAST])[:, None]
    if settings == 2:
        return np.repeat(ends[None].astype(float), count, axis=0)
    log_free = sums + np.log(FREE)
    free = np.exp(log_free - log_sum(log_free)[..., None])
    free[:, [0, -1]] = ends
    by_form = _by_form(sums)
    weight = np.log(FORMED / by_form.shape[1]) + by_form - complete(sums)[:, None]
    weight = np.exp(np.minimum(weight, 0.0))
    weight /= np.maximum(1.0, weight.sum(axis=1, keepdims=True))
    mixed: Floats = np.tensordot(weight, forms(settings.bit_length() - 1), axes=1)
    mixed += (1 - weight.sum(axis=1))[:, None, None] * free
    return mixed


def log_sum(values: Floats) -> Floats:
    """Return log(sum(exp(values))) over the last axis, without overflow."""
    top = values.max(axis=-1)
    total: Floats = top + np.log(np.exp(values - top[..., None]).sum(axis=-1))
    return total


def _by_form(sums: Floats) -> Floats:
    """Return the log likelihood of each form, shape (sets, forms)."""
    shaped = forms(sums.shape[1].bit_length() - 1).reshape(-1, sums.shape[1] * len(LEVELS))
    likelihood: Floats = sums.reshape(len(sums), -1) @ shaped.T
    return likelihood


def _free(sums: Floats) -> Floats:
    """Return that of free levels, less those that do not need each member.

    What needs no member of two is subtracted twice; it is little.
    """
    log_prior = np.log(FREE)
    settings = sums.shape[1]
    slow, fast = sums[:, 0, AT_SLOW], sums[:, -1, AT_FAST]
    total: Floats = slow + fast + log_sum(sums[:, 1:-1] + log_prior).sum(axis=1)
    needless = np.zeros(len(sums))
    for member in range(settings.bit_length() - 1):
        same = slow + fast
        for without in range(settings):
            other = without | 1 << member
            if other == without:
                continue
            if without == 0:
                same = same + sums[:, other, AT_SLOW] + log_prior[AT_SLOW]
            elif other == settings - 1:
                same = same + sums[:, without, AT_FAST] + log_prior[AT_FAST]
            else:
                same = same + log_sum(sums[:, without] + sums[:, other] + 2 * log_prior)
        needless += np.exp(np.minimum(same - total, 0.0))
    return total + np.log(np.maximum(1 - needless, 1e-6))
