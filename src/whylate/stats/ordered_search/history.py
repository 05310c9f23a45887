"""A history: which version holds which change.

Version 0 is GOOD and the last one is BAD. A change comes with a version: change c is in version v
if c is v or an ancestor of v. In a history without merges that is c <= v. "The step is in c" means
that c and all that descend from it measure differently from the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from whylate.stats.arrays import Bools, Floats, Int64s

#: A table of who descends from whom has this number of versions squared as bytes.
MAX_MERGED_VERSIONS = 8192


@dataclass(frozen=True, eq=False)
class History:
    """Versions in topological order, ancestors first.

    size: number of versions with GOOD and BAD. holds: shape (size, size), whether version (row)
    holds the change of version (column); None where the history has no merges. Raises ValueError
    where that is no history: fewer than two versions, a version that does not hold its own change,
    or one that holds the change of a later version.
    """

    size: int
    holds: Bools | None = None

    def __post_init__(self) -> None:
        if self.size < 2:
            raise ValueError("a history has two versions or more: GOOD and BAD")
        if self.holds is None:
            return
        if self.size > MAX_MERGED_VERSIONS:
            raise ValueError(f"a history with merges has {MAX_MERGED_VERSIONS} versions at most")
        if self.holds.shape != (self.size, self.size):
            raise ValueError("a history has a row and a column for each version")
        if not self.holds.diagonal().all() or np.triu(self.holds, 1).any():
            raise ValueError("a version holds its own change, and none of a later version")

    def changes(self, versions: Sequence[int]) -> Bools:
        """Return which change each of these versions holds, shape (versions, size)."""
        rows = np.asarray(versions, np.int64)
        if self.holds is not None:
            return self.holds[rows]
        held: Bools = np.arange(self.size)[None, :] <= rows[:, None]
        return held

    def held_mass(self, mass: Floats) -> Floats:
        """Return how much of a mass over changes, shape (size,), each version holds."""
        if self.holds is None:
            return np.cumsum(mass)
        held: Floats = self.holds @ mass
        return held

    def classes(self, unbuildable: Collection[int]) -> Int64s:
        """Return a class of each change, shape (size,): which no version that builds separates.

        The class of a change has the number of the last version in it.
        """
        numbers = np.arange(self.size)
        if not unbuildable:
            return numbers
        builds = np.ones(self.size, bool)
        builds[list(unbuildable)] = False
        if self.holds is None:
            testable = np.flatnonzero(builds)
            place = np.searchsorted(testable, numbers)
            return np.append(testable, self.size - 1)[place]
        # Two changes are in one class if the same versions hold them: compared by the sum of a
        # random 64-bit number per version, which is equal by chance once in 2^64 pairs.
        random = np.random.default_rng(0).integers(0, 2**64, self.size, np.uint64)
        sums = np.where(builds, random, np.uint64(0)) @ self.holds.astype(np.uint64)
        _, first, inverse = np.unique(sums[::-1], return_index=True, return_inverse=True)
        last: Int64s = (self.size - 1 - first)[inverse][::-1]
        return last
