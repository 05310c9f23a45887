"""What a search ends with."""

from __future__ import annotations

import enum
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from whylate.stats.arrays import Int64s
from whylate.stats.ordered_search.history import History
from whylate.stats.ordered_search.posterior import Posterior

#: Who names one step leaves at most this probability for two, or 1 - confidence where that is more.
TWO_AT_MOST = 0.1


class Kind(enum.Enum):
    """What is said of a history."""

    ONE_VERSION = "one version"
    VERSIONS = "one of these versions"
    TWO_STEPS = "two steps"
    NO_STEP = "no step"
    GRADUAL = "gradual"


class Kinds(NamedTuple):
    """The probability of each kind of history; they sum to 1."""

    no_step: float
    one_step: float
    two_steps: float
    gradual: float


@dataclass(frozen=True)
class Answer:
    """What a history holds, and how probable that is.

    versions: for one version or one of these, those in which a step is; for two steps, those of
    the first. second_versions: those of the second. More than one stand there because no version
    that builds is between them, or because the search ended early. probability: of the statement
    as it stands: "a step is in versions", "two steps are in versions and second_versions", "there
    is none". step: its size, for two steps of both together, a difference of logarithms; None
    where there is none.
    """

    kind: Kind
    versions: tuple[int, ...]
    second_versions: tuple[int, ...]
    probability: float
    step: float | None
    kinds: Kinds

    def decided(self, confidence: float) -> bool:
        """Return whether the search may end with this."""
        if self.probability < confidence:
            return False
        single = self.kind in (Kind.ONE_VERSION, Kind.VERSIONS)
        return not single or self.kinds.two_steps <= max(TWO_AT_MOST, 1 - confidence)


def best_answer(history: History, posterior: Posterior, unbuildable: Collection[int]) -> Answer:
    """Return the most probable statement that names as little as the versions that build allow.

    Where two steps are more probable than one, that is the pair of them.
    """
    classes = history.classes(unbuildable)
    kinds = _kinds(posterior)
    gradual = float(posterior.single_fit.first[-1])
    two = posterior.two_steps > posterior.one_step
    answers = [
        Answer(Kind.NO_STEP, (), (), posterior.no_step, None, kinds),
        Answer(Kind.GRADUAL, (), (), posterior.gradual, gradual, kinds),
        _two_steps(posterior, classes) if two else _one_step(posterior, classes),
    ]
    return max(answers, key=lambda answer: answer.probability)


def early_answer(
    history: History, posterior: Posterior, unbuildable: Collection[int], confidence: float
) -> Answer:
    """Return the best statement of a search that ends early: a set of versions where one is unsure.

    The set is the smallest that holds a step with the stated confidence if there is one; its own
    probability includes that there is none, or a gradual change.
    """
    best = best_answer(history, posterior, unbuildable)
    if best.probability >= confidence or posterior.one_step < max(
        posterior.no_step, posterior.two_steps, posterior.gradual
    ):
        return best
    classes = history.classes(unbuildable)
    mass = np.bincount(classes, posterior.steps(), history.size)
    order = np.argsort(-mass, kind="stable")
    enough = int(np.searchsorted(np.cumsum(mass[order]), confidence * mass.sum())) + 1
    chosen = order[: min(enough, int((mass > 0).sum()))]
    versions = np.flatnonzero(np.isin(classes, chosen) & (posterior.prior > 0))
    count = len(posterior.single)
    step = posterior.single @ posterior.single_fit.first[:count] / posterior.single.sum()
    return Answer(
        Kind.VERSIONS if len(versions) > 1 else Kind.ONE_VERSION,
        tuple(versions.tolist()),
        (),
        min(1.0, float(mass[chosen].sum())),
        float(step),
        _kinds(posterior),
    )


def _one_step(posterior: Posterior, classes: Int64s) -> Answer:
    mass = np.bincount(classes, posterior.steps(), len(classes))
    best = int(np.argmax(mass))
    versions = _members(posterior, classes, best)
    kind = Kind.ONE_VERSION if len(versions) == 1 else Kind.VERSIONS
    step = float(posterior.single_fit.first[posterior.groups[versions[-1]]])
    return Answer(kind, versions, (), min(1.0, float(mass[best])), step, _kinds(posterior))


def _two_steps(posterior: Posterior, classes: Int64s) -> Answer:
    apart = np.triu(posterior.pairs, 1)
    first, second = np.unravel_index(int(np.argmax(apart)), apart.shape)
    parts = [_best_class(posterior, classes, int(group)) for group in (first, second)]
    fit = posterior.pair_fit
    return Answer(
        Kind.TWO_STEPS,
        _members(posterior, classes, parts[0][0]),
        _members(posterior, classes, parts[1][0]),
        float(apart[first, second]) * parts[0][1] * parts[1][1],
        float(fit.first[first, second] + fit.second[first, second]),
        _kinds(posterior),
    )


def _best_class(posterior: Posterior, classes: Int64s, group: int) -> tuple[int, float]:
    """Return the largest class within a group, and what part of the group it is."""
    inside = np.where(posterior.groups == group, posterior.prior, 0.0)
    mass = np.bincount(classes, inside, len(classes))
    best = int(np.argmax(mass))
    return best, float(mass[best] / mass.sum())


def _members(posterior: Posterior, classes: Int64s, chosen: int) -> tuple[int, ...]:
    return tuple(np.flatnonzero((classes == chosen) & (posterior.prior > 0)).tolist())


def _kinds(posterior: Posterior) -> Kinds:
    return Kinds(posterior.no_step, posterior.one_step, posterior.two_steps, posterior.gradual)
