"""Several knobs at once: what each does, and whether one changes what another does.

Runs of every combination of k knobs with two settings each, in rounds. Of each statistic the model
is log(value) = round + sum of effects, where an effect is of one knob (main) or of several together
(interaction); coded so that an effect is the difference that the second setting makes, averaged
over the settings of the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.limits import student_t

#: Permutations that are looked at.
PERMUTATIONS = 5_000
#: As in whylate.stats.comparison.joint: near the largest t where one stands out.
_POWER = 6
#: More knobs than these make more effects than anybody reads.
MOST_FACTORS = 4
_EQUAL = 1e-9


@dataclass(frozen=True)
class Effects:
    """What was found.

    names: of each effect the knobs that it is of, main effects first. estimate, low, high: of each
    effect and statistic, float64, shape (effects, statistics), on the scale of the values; the
    interval is Student's on the residuals. p: of each effect, over all statistics together, by the
    permutations of Freedman and Lane; adjusted: for all effects, after Holm. degrees: of freedom.
    """

    names: tuple[tuple[int, ...], ...]
    estimate: Floats
    low: Floats
    high: Floats
    p: Floats
    adjusted: Floats
    degrees: int


def fit_effects(
    values: Floats, settings: Int64s, rounds: Int64s, weights: Floats, rng: np.random.Generator,
    confidence: float = 0.95,
) -> Effects:  # fmt: skip
    """Estimate and test all effects.

    values: of runs, shape (runs, statistics). settings: of each run 0 or 1 for each knob, int,
    shape (runs, knobs). rounds: of each run, int, shape (runs,): a block. weights: of the
    statistics, shape (statistics,). Raises ValueError where the runs do not tell all effects
    apart, or leave nothing to judge them by.

    Each effect is tested by the residuals of the model without it (Freedman and Lane 1983, J. Bus.
    Econ. Stat. 1), permuted within rounds, added back, and fitted anew; the statistic is the sum of
    the weighted t to the sixth power over all statistics. Approximate, and close where runs are
    few (Winkler et al. 2014, NeuroImage 92).
    """
    knobs = settings.shape[1]
    if not 1 <= knobs <= MOST_FACTORS:
        raise ValueError(f"1 to {MOST_FACTORS} knobs can be separated, not {knobs}")
    names = tuple(
        chosen for size in range(1, knobs + 1) for chosen in combinations(range(knobs), size)
    )
    signs = 2.0 * settings - 1
    # Half of the product of signs: its coefficient is the difference that the settings make.
    effects = np.column_stack([signs[:, list(chosen)].prod(axis=1) / 2 for chosen in names])
    blocks = (rounds[:, None] == np.unique(rounds)[None, :]).astype(np.float64)
    design = np.column_stack([effects, blocks])
    degrees = len(values) - np.linalg.matrix_rank(design)
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise ValueError("not every combination of settings was run in some round")
    if degrees < 1:
        raise ValueError("as many effects as runs: make more rounds")
    fit = _Fit(design, len(names), int(degrees))
    estimate, error = fit.fit(values)
    half = student_t(0.5 + confidence / 2, float(degrees)) * error
    groups = [np.flatnonzero(rounds == number) for number in np.unique(rounds)]
    p = np.array(
        [_tested(fit, design, values, column, groups, weights, rng) for column in range(len(names))]
    )
    return Effects(names, estimate, estimate - half, estimate + half, p, holm(p), int(degrees))


class _Fit:
    """Least squares with one design."""

    def __init__(self, design: Floats, effects: int, degrees: int) -> None:
        self._design = design
        self._inverse = np.linalg.pinv(design)
        self._effects = effects
        self._degrees = degrees
        self._spread = (self._inverse**2).sum(axis=1)[:effects]

    def fit(self, values: Floats) -> tuple[Floats, Floats]:
        """Return the effects and their standard errors, shapes (effects, statistics)."""
        coefficients = self._inverse @ values
        left = values - self._design @ coefficients
        variance = (left**2).sum(axis=0) / self._degrees
        return coefficients[: self._effects], np.sqrt(self._spread[:, None] * variance[None, :])


def _tested(
    fit: _Fit,
    design: Floats,
    values: Floats,
    column: int,
    groups: list[Int64s],
    weights: Floats,
    rng: np.random.Generator,
) -> float:
    """Return the p-value of one effect."""
    without = np.delete(design, column, axis=1)
    expected = without @ (np.linalg.pinv(without) @ values)
    left = values - expected
    real = _sum_of(fit, values, column, weights)
    as_much = 1
    for _ in range(PERMUTATIONS - 1):
        shuffled = np.empty_like(left)
        for group in groups:
            shuffled[group] = left[rng.permutation(group)]
        as_much += _sum_of(fit, expected + shuffled, column, weights) >= real * (1 - _EQUAL)
    return as_much / PERMUTATIONS


def _sum_of(fit: _Fit, values: Floats, column: int, weights: Floats) -> float:
    estimate, error = fit.fit(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.nan_to_num(estimate[column] / error[column], posinf=1e9, neginf=1e9)
    return float(((weights * np.abs(t)) ** _POWER).sum())


def holm(p: Floats) -> Floats:
    """Return p-values adjusted for all of them (Holm 1979, Scand. J. Stat. 6)."""
    order = np.argsort(p, kind="stable")
    scaled = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(scaled))
    return adjusted


def combinations_of(knobs: int) -> list[tuple[int, ...]]:
    """Return all combinations of settings of so many knobs, all first settings first."""
    return list(product((0, 1), repeat=knobs))
