"""How probably a version builds, from what its neighbours did: failures come in intervals.

Along the history, building is a Markov chain of two states: a part of all versions fails, in
intervals of some mean length. Both are unknown; a grid of them is weighed by what is known.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.special import logsumexp

from whylate.stats.arrays import Bools, Floats, Int64s

#: Parts of all versions that fail, and mean lengths of their intervals as parts of the history.
PARTS = np.array([0.02, 0.1, 0.25, 0.5])
LENGTHS = np.array([0.002, 0.01, 0.05, 0.2])


def builds_probability(known: Mapping[int, bool], size: int) -> Floats:
    """Return how probably each version builds, shape (size,).

    known: version to whether it builds; it holds the first and the last version. As long as all do,
    the others are taken to. Raises ValueError where an end is missing.
    """
    if 0 not in known or size - 1 not in known:
        raise ValueError("whether the first and the last version build must be known")
    if all(known.values()):
        return np.ones(size)
    places: Int64s = np.array(sorted(known))
    states = np.array([known[int(place)] for place in places])
    part = np.repeat(PARTS, len(LENGTHS))[:, None]
    length = np.maximum(1.0, np.tile(LENGTHS, len(PARTS))[:, None] * size)
    # The chain forgets its state by this factor per version.
    stays = np.maximum(0.0, 1 - 1 / (length * (1 - part)))
    gaps = np.diff(places)
    log = np.log(_step(states[:-1], states[1:], gaps, part, stays)).sum(axis=1)
    weights = np.exp(log - logsumexp(log))
    numbers = np.arange(size)
    right = np.minimum(np.searchsorted(places, numbers, side="right"), len(places) - 1)
    left = right - 1
    before, after = numbers - places[left], places[right] - numbers
    states_left, states_right = states[left], states[right]
    paths: list[Floats] = [
        _step(states_left, np.full(size, state), before, part, stays)
        * _step(np.full(size, state), states_right, after, part, stays)
        for state in (False, True)
    ]
    probability: Floats = weights @ (paths[1] / np.maximum(paths[0] + paths[1], 1e-300))
    probability[places] = states
    return probability


def _step(start: Bools, end: Bools, gap: Int64s, part: Floats, stays: Floats) -> Floats:
    """Return the probability of a state so many versions after another one."""
    share = np.where(end, 1 - part, part)
    kept = stays ** gap[None, :]
    probability: Floats = share * (1 - kept) + np.where(start == end, kept, 0.0)
    return np.maximum(probability, 1e-300)
