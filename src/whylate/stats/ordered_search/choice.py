"""Which version to run next: the one whose run tells most per second.

What a run tells is the mutual information between its value and what the version holds: neither
step, the first, the second or both, or that there is no step, or a gradual change. What these
predict, mixed over all places that a step may have, is summarised by Student's t of the same mean
and variance. A version that may not build counts with its probability.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.special import stdtrit

from whylate.stats.arrays import Floats, Int64s
from whylate.stats.ordered_search.events import Costs
from whylate.stats.ordered_search.history import History
from whylate.stats.ordered_search.posterior import Posterior

#: Versions are tried where the probability that they hold a step is about this.
_HELD = np.array([0.004, 0.015, 0.04, 0.08, 0.14, 0.22, 0.3, 0.4])
_HELD = np.concatenate([_HELD, [0.5], 1 - _HELD[::-1]])
#: Nodes of the integral over a predicted value.
_NODES = (np.arange(12) + 0.5) / 12
#: Two steps are thought of from this probability on.
_PAIRS = 0.03


def choose(
    history: History,
    posterior: Posterior,
    builds: Floats,
    built: Collection[int],
    booted: int | None,
    costs: Costs,
) -> int:
    """Return the version that tells most per second.

    builds: shape (size,), how probably each version builds. built: those that need no build.
    booted: that which needs no boot.
    """
    versions = _candidates(history, posterior, builds, built)
    gain = information(history, posterior, versions)
    buildable = builds[versions]
    build_s = np.where(np.isin(versions, list(built)), 0.0, costs.build_s)
    boot_s = np.where(versions == booted, 0.0, costs.boot_s)
    expected_s = build_s + buildable * (boot_s + costs.run_s)
    return int(versions[np.argmax(buildable * gain / expected_s)])


def _candidates(
    history: History, posterior: Posterior, builds: Floats, built: Collection[int]
) -> Int64s:
    """Return versions to weigh: spread over what they hold, all that are built, both ends."""
    steps = posterior.steps()
    held = history.held_mass(steps / max(steps.sum(), 1e-300))
    able = np.flatnonzero(builds > 0)
    # Of versions that hold equally much, the one that builds most probably.
    near = np.abs(held[able][None, :] - _HELD[:, None])
    spread = able[np.argmin(near, axis=1)]
    likely = able[np.argmin(near + 0.2 * (1 - builds[able])[None, :], axis=1)]
    return np.unique(np.concatenate([spread, likely, list(built), [0, history.size - 1]])).astype(
        np.int64
    )


def information(history: History, posterior: Posterior, versions: Int64s) -> Floats:
    """Return what a run of each version tells, in nats, shape (versions,)."""
    weights, means, variances = _predictions(history, posterior, versions)
    degrees = posterior.runs - 1
    scales = np.sqrt(variances)
    nodes = stdtrit(degrees, _NODES)
    # Shape (versions, hypothesis that holds, nodes), and one axis more for that which predicts.
    values = means[:, :, None] + scales[:, :, None] * nodes
    off = (values[:, :, None, :] - means[:, None, :, None]) / scales[:, None, :, None]
    density = (1 + off**2 / degrees) ** (-(degrees + 1) / 2) / scales[:, None, :, None]
    mixed = (weights[:, None, :, None] * density).sum(axis=2)
    own = (1 + nodes**2 / degrees) ** (-(degrees + 1) / 2) / scales[:, :, None]
    gain = np.log(np.maximum(own, 1e-300) / np.maximum(mixed, 1e-300)).mean(axis=2)
    expected: Floats = np.maximum(0.0, (weights * gain).sum(axis=1))
    return expected


def _predictions(
    history: History, posterior: Posterior, versions: Int64s
) -> tuple[Floats, Floats, Floats]:
    """Return weights, means and variances, each of shape (versions, hypotheses)."""
    count = len(posterior.group_prior)
    held = history.changes(versions.tolist())
    within = posterior.within()
    able = posterior.groups >= 0
    groups = posterior.groups[able]
    # What part of each group a version holds.
    spread = np.zeros((groups.size, count))
    spread[np.arange(groups.size), groups] = within[able]
    fraction = held[:, able].astype(np.float64) @ spread
    ahead, single = posterior.ahead, posterior.single_fit
    degrees = posterior.runs - 1
    levels = [_no_step(posterior, len(versions)), _gradual(history, posterior, versions)]
    step, shift = single.first[:count], ahead.shifts[:count]
    noise = single.squares[:count] / degrees
    for part, level in ((1 - fraction, 0.0), (fraction, 1.0)):
        mean = ahead.mean + step * (level - shift)
        variance = noise * (ahead.variance + (level - shift) ** 2 * single.first_variance[:count])
        weight = part * posterior.single
        levels.append(_mix(weight.sum(axis=1), weight @ mean, weight @ (mean**2 + variance)))
    if posterior.two_steps > _PAIRS:
        levels += _pairs(posterior, fraction)
    stacked = np.array(levels)
    weights = stacked[:, 0].T
    return weights / weights.sum(axis=1, keepdims=True), stacked[:, 1].T, stacked[:, 2].T


def _no_step(posterior: Posterior, count: int) -> Floats:
    variance = posterior.no_step_squares / (posterior.runs - 1) * posterior.ahead.variance
    level = np.array([posterior.no_step, posterior.ahead.mean, variance])
    return np.repeat(level[:, None], count, axis=1)


def _gradual(history: History, posterior: Posterior, versions: Int64s) -> Floats:
    single, ahead = posterior.single_fit, posterior.ahead
    off = history.held_mass(posterior.prior)[versions] - ahead.shifts[-1]
    noise = single.squares[-1] / (posterior.runs - 1)
    variance = noise * (ahead.variance + off**2 * single.first_variance[-1])
    mean = ahead.mean + single.first[-1] * off
    return np.stack([np.full(len(versions), posterior.gradual), mean, variance])


def _pairs(posterior: Posterior, fraction: Floats) -> list[Floats]:
    """Return four levels: versions that hold neither step, the first, the second, and both."""
    count = len(posterior.group_prior)
    pair, ahead = posterior.pair_fit, posterior.ahead
    shift = ahead.shifts[:count]
    noise = pair.squares[:count, :count] / (posterior.runs - 1)
    step, other = pair.first[:count, :count], pair.second[:count, :count]
    levels = []
    for first in (0.0, 1.0):
        for second in (0.0, 1.0):
            by, also = (first - shift)[:, None], (second - shift)[None, :]
            mean = ahead.mean + step * by + other * also
            variance = noise * (
                ahead.variance
                + by**2 * pair.first_variance[:count, :count]
                + also**2 * pair.second_variance[:count, :count]
                + 2 * by * also * pair.covariance[:count, :count]
            )
            left = fraction if first else 1 - fraction
            right = fraction if second else 1 - fraction

            def summed(of_pairs: Floats, left: Floats = left, right: Floats = right) -> Floats:
                total: Floats = ((left @ (posterior.pairs * of_pairs)) * right).sum(axis=1)
                return total

            levels.append(
                _mix(summed(np.ones_like(mean)), summed(mean), summed(mean**2 + variance))
            )
    return levels


def _mix(weight: Floats, mean: Floats, second_moment: Floats) -> Floats:
    """Return weight, mean and variance of a mixture from its sums, shape (3, versions)."""
    there = np.maximum(weight, 1e-300)
    mean = np.where(weight > 1e-12, mean / there, 0.0)
    variance = np.where(weight > 1e-12, second_moment / there - mean**2, 1.0)
    return np.stack([weight, mean, np.maximum(variance, 1e-300)])
