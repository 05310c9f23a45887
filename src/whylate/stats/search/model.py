"""What a search over differences is given, what it asks for, and how it ends.

A difference is an item. Two sides have all items one way or the other: the slow end and the fast
end. A hybrid has some items of each side, and a base: the side that it is built on. What differs
beside the items (the hardware, a kind that was not listed) comes with the base. It is the rest, and
it is searched like an item; its index is the number of items.

"Slow" and "fast" name the sides. The outcome may rise or fall from one to the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from whylate.stats.arrays import Bools, Floats, Int64s
from whylate.stats.comparison.shifts import Estimate

#: A set of items, ascending; the rest is the last.
Items = tuple[int, ...]
#: A closed group of the hierarchy: its level and its label.
Group = tuple[int, int]


class Purpose(StrEnum):
    """Why a hybrid is run."""

    END = "end"
    SCREEN = "screen"
    RESOLVE = "resolve"
    CONFIRM = "confirm"


@dataclass(frozen=True)
class Problem:
    """What to search.

    items: how many. weight: prior odds of each item, positive, shape (items,). groups: labels of
    the hierarchy, int, shape (items, levels), the coarsest level first; a label is of its level
    only. both_bases: whether hybrids can be built on either side; else all are built on the slow
    side. margin: how far from an end still behaves like it, as a part of the gap. budget: most
    runs. boards: how many share the runs. width: how many runs are asked for at once.
    """

    items: int
    seed: int
    weight: Floats | None = None
    groups: Int64s | None = None
    both_bases: bool = True
    margin: float = 0.3
    budget: int = 256
    boards: int = 1
    width: int = 2

    def __post_init__(self) -> None:
        if self.items < 1 or self.budget < 1 or self.boards < 1 or self.width < 1:
            raise ValueError("items, budget, boards and width are 1 or more")
        if not 0 < self.margin < 0.5:
            raise ValueError(f"a margin of {self.margin} is not between 0 and 0.5 of the gap")
        for name, array in (("weight", self.weight), ("groups", self.groups)):
            if array is not None and len(array) != self.items:
                raise ValueError(f"{name} has {len(array)} rows for {self.items} items")
        if self.weight is not None and not (self.weight > 0).all():
            raise ValueError("every weight is positive: leave out items that cannot matter")

    @property
    def batch(self) -> int:
        """How many hybrids are planned at once: one for each board at least."""
        return max(self.width, self.boards)

    @property
    def rest(self) -> int:
        """The index of what differs beside the items."""
        return self.items


@dataclass(frozen=True)
class Hybrid:
    """A run to make.

    in_force: which items have the fast side's value, bool, shape (items,). board: from 0. target:
    the set that is resolved or confirmed. opened: the groups that were open when it was planned;
    a plan keeps both in its journal, because the search has no other memory.
    """

    in_force: Bools
    fast_base: bool
    board: int
    purpose: Purpose
    target: Items = ()
    opened: tuple[Group, ...] = ()


@dataclass(frozen=True)
class Run:
    """A run that was made.

    in_force: what the board says is in force, bool, shape (items,). outcome: a logarithm of a
    statistic of the run; None: untestable (it does not boot, or cannot run the workload).
    """

    planned: Hybrid
    in_force: Bools
    outcome: float | None
    board: int = 0


@dataclass(frozen=True)
class Gap:
    """Fast end minus slow end, with its interval, and both in standard deviations of runs.

    estimate: on the scale of the outcome. sd: of one run. runs: at both ends.
    """

    estimate: Estimate
    sd: float
    runs: int

    @property
    def in_sd(self) -> float:
        """The size of the gap in run-level standard deviations."""
        return abs(self.estimate.value) / self.sd


@dataclass(frozen=True)
class Effect:
    """What an item does, as a part of the gap, averaged over the settings of the other culprits."""

    item: int
    share: Estimate


@dataclass(frozen=True)
class Confirmation:
    """What fresh runs say of a set, as parts of the gap.

    fast: how much of the gap is closed by the slow end with the set of the fast side; 1: it behaves
    as the fast end. slow: how much is lost by the fast end with the set of the slow side. None: not
    to be built. runs: fresh ones, of these two kinds.
    """

    fast: Estimate | None
    slow: Estimate | None
    runs: int


@dataclass(frozen=True)
class Culprits:
    """These items make the gap, confirmed both ways. atoms: items that could not be separated."""

    gap: Gap
    effects: tuple[Effect, ...]
    confirmation: Confirmation
    atoms: tuple[Items, ...]


def not_apart(atoms: Sequence[Items], item: int) -> Items:
    """Return the items that were not separated from one, by the atoms of an answer."""
    together = next((atom for atom in atoms if item in atom), ())
    return tuple(other for other in together if other != item)


@dataclass(frozen=True)
class ExplainsPart:
    """These items make a part of the gap; the rest is in none of the differences listed.

    share: of the gap that the items explain. not_set: items that no board has set, which belong to
    the rest.
    """

    gap: Gap
    effects: tuple[Effect, ...]
    share: Estimate
    confirmation: Confirmation
    atoms: tuple[Items, ...]
    not_set: Items = ()


@dataclass(frozen=True)
class NotAmong:
    """The gap is in none of the differences listed, confirmed both ways.

    not_set: items that no board has set, or that do not run on the other base: it may be in these.
    """

    gap: Gap
    confirmation: Confirmation
    not_set: Items = ()


@dataclass(frozen=True)
class NoGap:
    """The ends do not differ by more than the interval of the gap says."""

    gap: Gap


@dataclass(frozen=True)
class GapTooSmall:
    """There is a gap, and the budget is too small for it: about so many runs are needed."""

    gap: Gap
    needed: int


@dataclass(frozen=True)
class Candidate:
    """A set of items that may make the gap, and its posterior probability."""

    items: Items
    probability: float


@dataclass(frozen=True)
class Undecided:
    """The budget is used up. candidates: the most probable sets, the best first."""

    gap: Gap | None
    candidates: tuple[Candidate, ...]
    reason: str


Answer = Culprits | ExplainsPart | NotAmong | NoGap | GapTooSmall | Undecided
