"""Boards are provisioned with hybrids: by knobs, or by images."""

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


class Provisioned(Protocol):
    """A hybrid for one run of a board."""

    @property
    def applied(self) -> Applied:
        """Its knobs."""

    @property
    def sha256(self) -> str:
        """The hash of the image that they name; "": none."""

    @property
    def boot(self) -> Boot | None:
        """What boots the board with it; None: as always."""

    def in_force(self, directory: Path) -> Bools:
        """Return the items that the recording shows to be as on the second side, shape (items,).

        Raises NoOutcomeError where it is not the hybrid that was wanted.
        """


class Provisioner(Protocol):
    """Provisions boards with hybrids."""

    @property
    def sets(self) -> Sets:
        """What is searched."""

    @property
    def problem(self) -> Problem:
        """The same for the search."""

    @property
    def sides(self) -> Sequence[Applied]:
        """The knobs of both sides, of which a run of the other must have none."""

    def prepare(self, hybrids: Sequence[Hybrid]) -> None:
        """Make hybrids ahead, which are the next ones."""

    def provision(self, hybrid: Hybrid) -> AbstractContextManager[Provisioned]:
        """Return a hybrid for the time of its run.

        Raises NoOutcomeError for one that cannot be made, RequestError, and DiskError.
        """


@dataclass(frozen=True)
class WithKnobs:
    """A hybrid whose knobs are checked where they are set."""

    applied: Applied
    chosen: Bools
    sha256: str = ""
    boot: Boot | None = None

    def in_force(self, directory: Path) -> Bools:
        """Return the items of the second side: the probe has read the knobs back."""
        del directory
        return self.chosen
