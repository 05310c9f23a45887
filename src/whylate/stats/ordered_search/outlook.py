"""How far a search is: which versions lead, and how many runs are probably still to be made."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Floats
from whylate.stats.ordered_search.choice import information
from whylate.stats.ordered_search.history import History
from whylate.stats.ordered_search.posterior import Posterior

#: Versions that are named.
_NAMED = 3
#: A run that tells nothing now may tell something after the next.
_LEAST_NATS = 0.02


@dataclass(frozen=True)
class Outlook:
    """The leading versions, each with the probability of a step in it, and the runs to go.

    runs: an estimate: what is unknown, beyond what the confidence allows, by what the next run
    tells. Within a factor of two at first, mostly; towards the end, where a run tells little, it is
    several times too many.
    """

    leading: tuple[tuple[int, float], ...]
    runs: int


def outlook_of(history: History, posterior: Posterior, version: int, confidence: float) -> Outlook:
    """Return the outlook of a search whose next run is of that version."""
    steps = posterior.steps()
    order = np.argsort(-steps, kind="stable")[:_NAMED]
    kinds = [posterior.no_step, posterior.gradual]
    left = _entropy(np.append(steps / max(steps.sum(), 1e-300) * (1 - sum(kinds)), kinds))
    allowed = _entropy(np.array([confidence, (1 - confidence) / 2, (1 - confidence) / 2]))
    gain = float(information(history, posterior, np.array([version]))[0])
    return Outlook(
        tuple((int(place), min(1.0, float(steps[place]))) for place in order if steps[place] > 0),
        max(1, math.ceil((left - allowed) / max(gain, _LEAST_NATS))),
    )


def _entropy(parts: Floats) -> float:
    """Return the entropy of a distribution in nats."""
    positive = parts[parts > 0]
    return float(-(positive * np.log(positive)).sum())
