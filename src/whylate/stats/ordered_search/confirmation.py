"""The confirmation of a step: fresh runs of the culprit and of its parent, in interleaved pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.comparison.stopping import e_value
from whylate.stats.limits import student_t
from whylate.stats.ordered_search.events import Measured


@dataclass(frozen=True)
class Pair:
    """What is confirmed.

    parent, culprit: versions. step: what the search found, a difference of logarithms, of which
    the sign counts. alpha: how often a step that is none is confirmed, at most. max_pairs: then the
    step counts as not confirmed. seed: of the order within pairs. Raises ValueError for one version
    twice, a step of nothing, or limits out of range.
    """

    parent: int
    culprit: int
    step: float
    alpha: float = 0.05
    max_pairs: int = 60
    seed: int = 0

    def __post_init__(self) -> None:
        if self.parent == self.culprit or not math.isfinite(self.step) or self.step == 0:
            raise ValueError("a step is a difference between two versions")
        if not 0 < self.alpha < 1 or self.max_pairs < 2:
            raise ValueError("alpha is between 0 and 1, and there are two pairs or more")


@dataclass(frozen=True)
class Confirmation:
    """Whether the step is there again; difference ± half_width: its 95 % interval (Student's t).

    The interval is for a fixed number of pairs: after a stop at the first evidence the difference
    is a little too large.
    """

    confirmed: bool
    pairs: int
    difference: float
    half_width: float


def next_confirmation(pair: Pair, runs: Sequence[Measured]) -> int | Confirmation:
    """Return the version to run next, or the result.

    runs: all fresh runs so far, none of the search's. Within a pair the order is random. The
    evidence is an e-value, so that it may be looked at after each pair. Raises ValueError for a run
    of another version.
    """
    values: dict[int, list[float]] = {pair.parent: [], pair.culprit: []}
    for run in runs:
        if run.version not in values:
            raise ValueError(f"version {run.version} is neither the culprit nor its parent")
        values[run.version].append(run.value)
    before, after = values[pair.parent], values[pair.culprit]
    if len(before) != len(after):
        return pair.parent if len(before) < len(after) else pair.culprit
    differences = np.array(after) - np.array(before)
    enough = e_value(differences) >= 1 / pair.alpha
    if not enough and len(differences) < pair.max_pairs:
        rng = np.random.default_rng([pair.seed, len(differences)])
        return int(rng.choice([pair.parent, pair.culprit]))
    n = len(differences)
    mean = float(differences.mean())
    half_width = student_t(0.975, n - 1) * float(differences.std(ddof=1)) / math.sqrt(n)
    return Confirmation(enough and mean * pair.step > 0, n, mean, half_width)
