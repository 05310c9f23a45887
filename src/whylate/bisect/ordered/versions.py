"""The versions of an ordered history, and how each is run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from whylate.run.progress import Observer
from whylate.stats.ordered_search.history import History


class UnavailableError(Exception):
    """A version that cannot be made or brought to a board; says why."""


@dataclass(frozen=True)
class Nouns:
    """How versions are called.

    verb: the command. before: that with which a culprit is compared. first, last: the ends.
    """

    verb: str
    singular: str
    plural: str
    before: str
    first: str
    last: str


class Versions(Protocol):
    """Versions by their places in a history, the oldest first."""

    @property
    def history(self) -> History:
        """Which of them holds which."""

    @property
    def nouns(self) -> Nouns:
        """How they are called."""

    @property
    def names(self) -> Sequence[str]:
        """What each is in the journal."""

    @property
    def made_s(self) -> Sequence[float]:
        """How long each took that was made, s."""

    def place(self, name: str) -> int:
        """Return the place of a name."""

    def title(self, place: int) -> str:
        """Return a version as people know it."""

    def short(self, place: int) -> str:
        """Return its shortest name."""

    def before(self, place: int) -> int:
        """Return the version with which one is compared."""

    def make(self, place: int) -> None:
        """Make a version unless it is made; raises UnavailableError."""

    def same_as(self, place: int, known: Sequence[str]) -> str:
        """Return which of these is the same as one that was made, or ""."""

    def bring(self, place: int) -> None:
        """Bring one that was made to the board; raises UnavailableError."""

    def attempt(
        self, place: int, number: int, directory: Path, observer: Observer
    ) -> tuple[float, str]:
        """Make a run once and return its value and unit.

        Raises NoOutcomeError where it does not count, RequestError where the board is to blame, and
        DiskError.
        """
