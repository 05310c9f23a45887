"""A way to bring hybrids onto boards: by knobs, or by images."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from whylate.bisect.sets.model import Sets
from whylate.boards.ready import Boot
from whylate.run.knobs.apply import Applied
from whylate.stats.arrays import Bools
from whylate.stats.search.model import Hybrid, Problem


class Brought(Protocol):
    """A hybrid for one run of a board.

    applied: its knobs. sha256: of the image that it names; "": none. boot: what boots the board
    with it, None: as always.
    """

    applied: Applied
    sha256: str
    boot: Boot | None

    def in_force(self, directory: Path) -> Bools:
        """Return the items that the recording shows to be as on the second side, shape (items,).

        Raises NoOutcomeError where it is not the hybrid that was wanted.
        """


class Way(Protocol):
    """Brings hybrids onto boards.

    sides: the knobs of both, of which a run of the other must have none.
    """

    sets: Sets
    problem: Problem
    sides: Sequence[Applied]

    def expect(self, hybrids: Sequence[Hybrid]) -> None:
        """Make hybrids ahead that will be brought next."""

    def bring(self, hybrid: Hybrid) -> AbstractContextManager[Brought]:
        """Return a hybrid for the time of its run.

        Raises NoOutcomeError for one that cannot be made, RequestError, and DiskError.
        """


@dataclass(frozen=True)
class Known:
    """A hybrid whose knobs are checked where they are set."""

    applied: Applied
    chosen: Bools
    sha256: str = ""
    boot: Boot | None = None

    def in_force(self, directory: Path) -> Bools:
        """Return the items of the second side: the probe has read the knobs back."""
        del directory
        return self.chosen
