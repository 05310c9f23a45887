"""Histories with steps whose places are known, and values of their runs, for the calibration."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.stats.ordered_search.answer import Answer, Kind
from whylate.stats.ordered_search.history import History

SIZE = 1000
#: Mean length of an interval of versions that do not build, and of a branch.
INTERVAL, BRANCH = 20, 8


@dataclass(frozen=True)
class Case:
    """A kind of history.

    step: in standard deviations of a run. steps: how many of them, 0 to 2. drift: per run.
    unbuildable: what part of the versions. heavy: the noise is Student's t with 4 degrees of
    freedom, scaled to a standard deviation of 1. gradual: it rises by `step` evenly. wander: the
    variance of a random walk per run. jump: by which all later runs differ, up or down, from a run
    between the 20th and `jump_before`.
    """

    step: float
    steps: int = 1
    drift: float = 0.0
    unbuildable: float = 0.0
    merges: bool = False
    heavy: bool = False
    gradual: bool = False
    size: int = SIZE
    wander: float = 0.0
    jump: float = 0.0
    jump_before: int = 100


#: Runs for which there is a drift.
_RUNS = 1000


class Simulated:
    """A history, where its steps are, which versions build, and what runs of them give."""

    def __init__(
        self,
        case: Case,
        history: History,
        culprits: Collection[int],
        builds: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> None:
        self.history, self.culprits, self.builds = history, tuple(sorted(culprits)), builds
        self._case, self._rng = case, rng
        self._drift = case.drift * np.arange(_RUNS)
        if case.wander:
            self._drift += np.cumsum(rng.normal(0, np.sqrt(case.wander), _RUNS))
        if case.jump:
            at = int(rng.integers(20, case.jump_before))
            self._drift[at:] += case.jump * rng.choice([-1, 1])

    def measure(self, version: int, run: int) -> float:
        """Return the value of a run; run: how many were made before."""
        held = self.history.changes([version])[0]
        case = self._case
        level = case.step * sum(bool(held[culprit]) for culprit in self.culprits)
        if case.gradual:
            level = case.step * version / (self.history.size - 1)
        noise = self._rng.standard_t(4) / np.sqrt(2) if case.heavy else self._rng.normal()
        return float(level + self._drift[run] + noise)

    def true_versions(self, versions: Collection[int]) -> bool:
        """Return whether one of these is a culprit."""
        return bool(set(versions) & set(self.culprits))

    def true_statement(self, answer: Answer) -> bool:
        """Return whether an answer holds."""
        if answer.kind in (Kind.ONE_VERSION, Kind.VERSIONS):
            return self.true_versions(answer.versions)
        if answer.kind is Kind.TWO_STEPS:
            return (
                len(self.culprits) == 2
                and self.culprits[0] in answer.versions
                and self.culprits[1] in answer.second_versions
            )
        gradual = answer.kind is Kind.GRADUAL
        return not self.culprits and gradual == self._case.gradual


def simulate_history(case: Case, rng: np.random.Generator) -> Simulated:
    """Return a random history of a kind."""
    history = _merged(case.size, rng) if case.merges else History(case.size)
    builds = np.ones(case.size, bool)
    while 1 - builds.mean() < case.unbuildable:
        start = int(rng.integers(1, case.size - 1))
        builds[start : min(start + int(rng.geometric(1 / INTERVAL)), case.size - 1)] = False
    places = np.arange(1, case.size)
    culprits = rng.choice(places, case.steps, replace=False).tolist()
    while case.steps == 2 and abs(culprits[0] - culprits[1]) < case.size // 20:
        culprits = rng.choice(places, 2, replace=False).tolist()
    return Simulated(case, history, culprits, builds, rng)


def _merged(size: int, rng: np.random.Generator) -> History:
    """Return a history whose commits are on branches from the main line, merged into it again."""
    holds = np.eye(size, dtype=bool)
    tip = 0
    branches: list[int] = []
    for version in range(1, size):
        last = version == size - 1
        if last or (branches and rng.random() < 1 / BRANCH):
            # A merge; the last version merges all that is open.
            merged = branches if last else [branches.pop(int(rng.integers(len(branches))))]
            for parent in (tip, *merged):
                holds[version] |= holds[parent]
            tip = version
        elif len(branches) < 4 and rng.random() < 1 / BRANCH:
            holds[version] |= holds[tip]
            branches.append(version)
        else:
            place = int(rng.integers(len(branches) + 1))
            parent = branches[place] if place < len(branches) else tip
            holds[version] |= holds[parent]
            if place < len(branches):
                branches[place] = version
            else:
                tip = version
    return History(size, holds)
