"""Why some executions of a section took longer than most.

Each execution is cut into what its thread did: interrupted, preempted, asleep, waiting for a lock,
in a page fault, without its CPU because a hypervisor had it, and the rest, its own code. Longer is
what took more than twice the median. The located share of a part is its share of what longer
executions took beyond the mean of the others (whylate.stats.shares). The class of an execution is
the part that has half of its excess or more, if that part was observed; of the rest nothing is
known but that it was in none of the others. Where something else is evidence of what an execution
did in its own code, as its counters are, what of the rest is beyond its mean is of that class.
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


@dataclass(frozen=True)
class OwnCode:
    """What longer executions did in their own code, on other evidence.

    classes: int, shape (n,), of the longer ones, places in names; below 0: not known. It counts of
    those whose class by time is the rest.
    """

    classes: NDArray[np.integer]
    names: Sequence[str]


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


def classify(
    longer: Times,
    others: Times,
    names: Sequence[str],
    seed: int,
    own_code: OwnCode | None = None,
) -> list[ExecutionClass]:
    """Return the classes with any execution or share, the largest share first.

    names: of the parts, in their order. own_code: what divides the rest; the interval of such a
    share holds the mean rest of the others fixed, and how that varies is in the interval of what
    remains unexplained. Empty without a longer execution, or without another.
    """
    if not longer.duration_ns.size or not others.duration_ns.size:
        return []
    spent, usual = longer.spent(), others.spent()
    of_class = find_classes(longer, others)
    if own_code is not None:
        of_class = _divide(of_class, own_code, len(names))
        spent, usual = _divide_rest(spent, usual, of_class, len(own_code.names))
        names = (*names, *own_code.names)
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


def _divide(of_class: NDArray[np.int64], own_code: OwnCode, parts: int) -> NDArray[np.int64]:
    """Return the place of each execution's class among parts, classes of own code, and the rest."""
    known = np.where(own_code.classes < 0, len(own_code.names), own_code.classes)
    return np.where(of_class == parts, parts + known, of_class)


def _divide_rest(
    spent: NDArray[np.float64],
    usual: NDArray[np.float64],
    of_class: NDArray[np.int64],
    classes: int,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return times with a column more before the rest for each class of own code.

    An execution of such a class has there what its rest has beyond the mean of the others.
    """
    rest = spent.shape[1] - 1
    usual_ns = float(usual[:, rest].mean())
    own = np.zeros((len(spent), classes))
    rows = np.flatnonzero((of_class >= rest) & (of_class < rest + classes))
    own[rows, of_class[rows] - rest] = spent[rows, rest] - usual_ns
    left = spent[:, rest] - own.sum(axis=1)
    nothing = np.zeros((len(usual), classes))
    return (
        np.column_stack((spent[:, :rest], own, left)),
        np.column_stack((usual[:, :rest], nothing, usual[:, rest])),
    )
