"""Do runs fall into groups? The same test may come out in several ways, by boot or placement.

A gap between two groups of runs is looked at on the scale of the spread within them. What normal
values of one group give by chance, simulation tells: the statistic has no unit.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Fewer runs show no groups.
FEWEST = 6
#: Each group has so many of them.
_SMALLEST = 2
_SIMULATED = 20_000
_SEED = 20


@dataclass(frozen=True)
class Modes:
    """Two groups of runs. upper: which runs are in the higher one, bool, shape (runs,)."""

    upper: NDArray[np.bool_]
    low: float
    high: float
    p: float


def modes_test(values: Floats, alpha: float = 0.01) -> Modes | None:
    """Return two groups of values, shape (runs,), or None where one group would give as much.

    Values that are all but equal within a group are taken as spread by a millionth.
    """
    n = len(values)
    if n < FEWEST:
        return None
    order = np.argsort(values, kind="stable")
    score, cut = _split(values[order][None, :])
    p = (1 + np.count_nonzero(_by_chance(n) >= score[0])) / (1 + _SIMULATED)
    if p > alpha:
        return None
    upper = np.zeros(n, bool)
    upper[order[cut[0] :]] = True
    return Modes(upper, float(values[~upper].mean()), float(values[upper].mean()), float(p))


def _split(ascending: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Return for each row the largest part of its variance that a cut into two explains.

    ascending: shape (rows, n). With it: where the upper group begins.
    """
    n = ascending.shape[1]
    centred = ascending - ascending.mean(axis=1, keepdims=True)
    total = (centred**2).sum(axis=1)
    size = np.arange(_SMALLEST, n - _SMALLEST + 1)
    sums = np.cumsum(centred, axis=1)[:, size - 1]
    between = sums**2 * n / (size * (n - size))
    best = between.argmax(axis=1)
    part = np.take_along_axis(between, best[:, None], axis=1)[:, 0]
    within = np.maximum(total - part, total * 1e-12)
    with np.errstate(invalid="ignore"):
        return np.nan_to_num(part / within), size[best]


@cache
def _by_chance(n: int) -> Floats:
    rng = np.random.default_rng([_SEED, n])
    return _split(np.sort(rng.standard_normal((_SIMULATED, n)), axis=1))[0]
