"""Why some executions of a section took longer than most.

Each execution is cut into what its thread did: interrupted, preempted, asleep, waiting for a lock,
in a page fault, without its CPU because a hypervisor had it, and the rest, its own code. Longer is
what took more than twice the median. The located share of a part is its share of what longer
executions took beyond the mean of the others (whylate.stats.shares). The class of an execution is
the part that has half of its excess or more, if that part was observed; of the rest nothing is
known but that it was in none of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from whylate.stats.shares import Spent, estimate_shares

#: How much longer than the median is longer.
TIMES = 2
#: Blocks of time that are resampled.
BLOCKS = 64
#: What the rest is called.
REST = "unexplained"


@dataclass(frozen=True)
class ExecutionClass:
    """Executions whose excess is mostly in one part.

    share: of the excess of all longer executions, spent in the part, with its interval at 95 %; NaN
    where nothing bounds it. count: executions whose class it is. longest: the row of the longest
    of them among the longer ones; -1 where there is none.
    """

    name: str
    share: float
    low: float
    high: float
    count: int
    longest: int


@dataclass(frozen=True)
class Times:
    """Executions and their parts: duration_ns, began_ns: int64, shape (n,); parts: (n, parts)."""

    began_ns: NDArray[np.int64]
    duration_ns: NDArray[np.int64]
    parts: NDArray[np.int64]

    @property
    def overlapping(self) -> int:
        """How many have parts that together are longer than the whole."""
        return int(np.count_nonzero(self.parts.sum(axis=1) > self.duration_ns))

    def spent(self) -> NDArray[np.float64]:
        """Return the time in each part, and last the rest, float64 ns, shape (n, parts + 1)."""
        rest = self.duration_ns - self.parts.sum(axis=1)
        return np.column_stack((self.parts, rest)).astype(np.float64)


def find_classes(longer: Times, others: Times) -> NDArray[np.int64]:
    """Return the class of each longer execution, int64, shape (n,): the place of its part.

    The last place is that of the rest, which also has all executions without a part of half of
    their excess. others: at least one.
    """
    excess = longer.spent() - others.spent().mean(axis=0)
    rest = excess.shape[1] - 1
    has_half = 2 * excess.max(axis=1) >= excess.sum(axis=1)
    classes: NDArray[np.int64] = np.where(has_half, excess.argmax(axis=1), rest)
    return classes


def classify(longer: Times, others: Times, names: Sequence[str], seed: int) -> list[ExecutionClass]:
    """Return the classes with any execution or share, the largest share first.

    names: of the parts, in their order. Empty without a longer execution, or without another.
    """
    if not longer.duration_ns.size or not others.duration_ns.size:
        return []
    spent, usual = longer.spent(), others.spent()
    began = np.concatenate((longer.began_ns, others.began_ns))
    edges = np.linspace(began.min(), began.max() + 1, BLOCKS + 1)[1:-1]

    def spent_of(times: Times, part: NDArray[np.float64]) -> Spent:
        return Spent(
            part,
            np.zeros(len(part), np.int64),
            np.searchsorted(edges, times.began_ns, "right").astype(np.int64),
        )

    shares = estimate_shares(
        spent_of(longer, spent),
        np.zeros(len(spent), np.bool_),
        len(names),
        spent_of(others, usual),
        np.random.default_rng(seed),
    )
    of_class = find_classes(longer, others)
    classes = []
    for number, name in enumerate((*names, REST)):
        own = np.flatnonzero(of_class == number)
        if not own.size and abs(shares.share[number]) < 0.0005:
            continue
        longest = int(own[longer.duration_ns[own].argmax()]) if own.size else -1
        classes.append(
            ExecutionClass(
                name,
                float(shares.share[number]),
                float(shares.low[number]),
                float(shares.high[number]),
                int(own.size),
                longest,
            )
        )
    return sorted(classes, key=lambda each: -each.share)
