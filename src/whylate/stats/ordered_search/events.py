"""Events of a search, and its settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A run of a version: the logarithm of a statistic of the run."""

    version: int
    value: float


@dataclass(frozen=True)
class Unbuildable:
    """A version that does not build, does not boot or cannot run the workload."""

    version: int


@dataclass(frozen=True)
class SameBinary:
    """A version whose build gives the same binary as that of another one."""

    version: int
    other: int


Event = Measured | Unbuildable | SameBinary


@dataclass(frozen=True)
class Costs:
    """What a run takes, and before it a boot of another version and a build of a new one, seconds.

    Raises ValueError for a run that takes no time, or what is no length of time.
    """

    run_s: float = 60.0
    boot_s: float = 30.0
    build_s: float = 120.0

    def __post_init__(self) -> None:
        lengths = (self.run_s, self.boot_s, self.build_s)
        if not all(math.isfinite(length) and length >= 0 for length in lengths) or not self.run_s:
            raise ValueError("costs are lengths of time in seconds, and a run takes some")


@dataclass(frozen=True)
class Settings:
    """How to search.

    confidence: the posterior probability at which the search ends. max_runs: ends it earlier,
    without this confidence. end_runs: runs of GOOD and of BAD each before any other version, and up
    to twice as many where they do not differ clearly. reference_every: after so many runs without
    one of GOOD, or of BAD, comes one. Raises ValueError for a confidence that is not between ½ and
    1, or numbers that are too small.
    """

    confidence: float = 0.95
    max_runs: int = 400
    end_runs: int = 10
    reference_every: int = 20
    costs: Costs = Costs()
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0.5 <= self.confidence < 1:
            raise ValueError("the confidence is between 0.5 and 1")
        if self.end_runs < 2 or self.reference_every < 3:
            raise ValueError("an end has two runs or more, and a reference comes every third run")
        if self.max_runs < 2 * self.end_runs:
            raise ValueError(f"max_runs is below {2 * self.end_runs}, the runs of both ends")


def check_events(events: Sequence[Event], size: int) -> None:
    """Raise ValueError for an event of an unknown version, or a value that is no number."""
    for event in events:
        versions = [event.version]
        if isinstance(event, SameBinary):
            versions.append(event.other)
        if not all(0 <= version < size for version in versions):
            raise ValueError(f"{event} is of no version of this history: 0 to {size - 1}")
        if isinstance(event, Measured) and not math.isfinite(event.value):
            raise ValueError(f"{event} has no finite value: is it the logarithm of a statistic?")
        if isinstance(event, Unbuildable) and event.version in (0, size - 1):
            raise ValueError("GOOD and BAD must build: choose other ends")
