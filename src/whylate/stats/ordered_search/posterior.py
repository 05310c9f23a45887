"""The posterior over what a history holds: no step, one, two, or a gradual change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.ordered_search.drift import DRIFTS
from whylate.stats.ordered_search.events import Event, Measured, SameBinary, Unbuildable
from whylate.stats.ordered_search.history import History
from whylate.stats.ordered_search.regression import (
    SCALES,
    Ahead,
    Fitted,
    Projected,
    fit_none,
    fit_pairs,
    fit_single,
    look_ahead,
    project,
)

#: Prior probabilities of the kinds of answers.
NO_STEP, ONE_STEP, TWO_STEPS, GRADUAL = 0.15, 0.77, 0.06, 0.02
#: Two steps beside a jump are weighed where the jump is within so many nats of the best drift. With
#: the other drifts they always are: where there are two steps, fits of one say little of the drift.
_UNLIKELY = 4.0


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is known after some runs.

    no_step, one_step, two_steps, gradual: probabilities; they sum to 1. groups: shape (size,), the
    group of each change: no version that was measured separates changes of one group. -1 where a
    change cannot be the step. prior: shape (size,). group_prior: shape (groups,). single: shape
    (groups,), the probability of one step there; pairs: shape (groups, groups), of two, above the
    diagonal and on it. single_fit, pair_fit, ahead: under the most probable rate of drift and scale
    of the step; the last column of single_fit and of ahead is the gradual change.
    """

    runs: int
    no_step: float
    one_step: float
    two_steps: float
    gradual: float
    groups: Int64s
    prior: Floats
    group_prior: Floats
    single: Floats
    pairs: Floats
    single_fit: Fitted
    pair_fit: Fitted
    ahead: Ahead
    no_step_squares: float

    def changes(self) -> Floats:
        """Return the probability of one step at each change, shape (size,)."""
        return self._spread(self.single)

    def steps(self) -> Floats:
        """Return the mean number of steps at each change, shape (size,)."""
        return self._spread(self.single + self.pairs.sum(axis=0) + self.pairs.sum(axis=1))

    def within(self) -> Floats:
        """Return the prior of each change within its group, shape (size,)."""
        return self._spread(np.ones_like(self.group_prior))

    def _spread(self, of_groups: Floats) -> Floats:
        able = self.groups >= 0
        spread = np.zeros(len(self.groups))
        groups = self.groups[able]
        spread[able] = of_groups[groups] * self.prior[able] / self.group_prior[groups]
        return spread


def change_prior(history: History, events: Sequence[Event]) -> Floats:
    """Return the prior probability of each change, shape (size,), all 0 where none can be the step.

    GOOD is good. Two versions of one binary hold the step both or neither.
    """
    able = np.ones(history.size, bool)
    able[0] = False
    for event in events:
        if isinstance(event, SameBinary):
            version, other = history.changes([event.version, event.other])
            able &= version == other
    able &= history.changes([history.size - 1])[0]
    prior: Floats = able / max(1, able.sum())
    return prior


def unbuildable(events: Sequence[Event]) -> frozenset[int]:
    """Return the versions that cannot be measured."""
    return frozenset(event.version for event in events if isinstance(event, Unbuildable))


def infer(history: History, events: Sequence[Event]) -> Posterior:
    """Return the posterior; there must be three runs or more, and a change that can be the step."""
    runs = [event for event in events if isinstance(event, Measured)]
    values = np.array([run.value for run in runs])
    versions, which = np.unique([run.version for run in runs], return_inverse=True)
    prior = change_prior(history, events)
    groups, patterns = _group(history, versions, prior)
    able = groups >= 0
    group_prior: Floats = np.bincount(groups[able], prior[able], len(patterns)).astype(np.float64)
    squared: Floats = np.bincount(groups[able], prior[able] ** 2, len(patterns)).astype(np.float64)
    ramp = history.held_mass(prior)[versions]
    columns = np.vstack([patterns, ramp])[:, which].astype(np.float64)
    return _weigh(values, columns, groups, prior, group_prior, squared)


def _group(history: History, versions: Int64s, prior: Floats) -> tuple[Int64s, Floats]:
    """Return the group of each change, and which version holds it, shape (groups, versions)."""
    able = np.flatnonzero(prior > 0)
    held = history.changes(versions.tolist())[:, able]
    packed = np.ascontiguousarray(np.packbits(held, axis=0).T)
    keys = packed.view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    # In the order of the history, so that of a pair the first one comes first.
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    groups = np.full(history.size, -1)
    groups[able] = rank[inverse]
    return groups, held[:, first[order]].T.astype(float)


def _weigh(
    values: Floats,
    columns: Floats,
    groups: Int64s,
    prior: Floats,
    group_prior: Floats,
    squared: Floats,
) -> Posterior:
    n, count = len(values), len(group_prior)
    pair_prior = np.triu(np.outer(group_prior, group_prior), 1)
    np.fill_diagonal(pair_prior, np.maximum(0, (group_prior**2 - squared) / 2))
    total = pair_prior.sum()
    with np.errstate(divide="ignore"):
        log_single = np.log(ONE_STEP * group_prior)
        log_pairs = np.log(TWO_STEPS * pair_prior / (total or 1))
    cells: dict[tuple[int, int], tuple[Projected, Fitted]] = {}
    none = np.empty(len(DRIFTS))
    gradual = np.empty((len(DRIFTS), len(SCALES)))
    single = np.empty((len(DRIFTS), len(SCALES), count))
    for row, (drift, drift_prior) in enumerate(DRIFTS):
        sums = project(values, columns, drift)
        none[row] = np.log(NO_STEP * drift_prior) + fit_none(sums, n)
        for column, (scale, scale_prior) in enumerate(SCALES):
            of_cell = np.log(drift_prior * scale_prior)
            step = fit_single(sums, scale, n)
            single[row, column] = of_cell + log_single + step.log_likelihood[:count]
            gradual[row, column] = of_cell + np.log(GRADUAL) + step.log_likelihood[count]
            cells[row, column] = sums, step
    of_drift = np.maximum(single.max(axis=(1, 2)), np.maximum(none, gradual.max(axis=1)))
    pairs: dict[tuple[int, int], Floats] = {}
    two: dict[tuple[int, int], Fitted] = {}
    for (row, column), (sums, _) in cells.items():
        (drift, drift_prior), (scale, scale_prior) = DRIFTS[row], SCALES[column]
        if not drift.jump or of_drift[row] > of_drift.max() - _UNLIKELY:
            steps = two[row, column] = fit_pairs(sums, scale, n)
            of_cell = np.log(drift_prior * scale_prior)
            pairs[row, column] = of_cell + log_pairs + steps.log_likelihood[:count, :count]
    highest = max(part.max() for part in (none, gradual, single, *pairs.values()))
    none, gradual, single = (np.exp(part - highest) for part in (none, gradual, single))
    of_cells, of_pairs = single.sum(axis=2), np.zeros((count, count))
    for cell, log in pairs.items():
        weight = np.exp(log - highest)
        of_pairs += weight
        of_cells[cell] += weight.sum()
    best = np.unravel_index(int(np.argmax(of_cells)), of_cells.shape)
    row, column = int(best[0]), int(best[1])
    sums, step = cells[row, column]
    steps = two.get((row, column)) or fit_pairs(sums, SCALES[column][0], n)
    everything = none.sum() + gradual.sum() + of_cells.sum()
    probability = single.sum(axis=(0, 1)) / everything
    of_pairs /= everything
    return Posterior(
        runs=n,
        no_step=float(none.sum() / everything),
        one_step=float(probability.sum()),
        two_steps=float(of_pairs.sum()),
        gradual=float(gradual.sum() / everything),
        groups=groups,
        prior=prior,
        group_prior=group_prior,
        single=probability,
        pairs=of_pairs,
        single_fit=step,
        pair_fit=steps,
        ahead=look_ahead(sums, values, columns),
        no_step_squares=sums.squares,
    )
