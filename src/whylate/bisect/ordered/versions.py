"""The versions of an ordered history, and how each is run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from whylate.run.errors import RequestError
from whylate.run.progress import Observer
from whylate.stats.ordered_search.history import History


class UnavailableError(Exception):
    """A version that cannot be made or brought to a board; says why."""


class LostBoardError(RequestError):
    """A board on which nothing can be run; says why."""


class StoppedEarlyError(Exception):
    """What makes a version was stopped, because its result is not wanted any more."""


@dataclass(frozen=True)
class Wanted:
    """A version that is to be made; reverted: the last one with that one reverted on top."""

    place: int
    reverted: bool = False


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
    def boards(self) -> Sequence[str]:
        """On which boards they are run, each on all."""

    @property
    def can_revert(self) -> bool:
        """Whether one can be reverted on top of the last one."""

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

    def made(self) -> set[int]:
        """Return the versions that are made."""

    def make(self, wanted: Wanted) -> None:
        """Make a version unless it is made; raises UnavailableError and StoppedEarlyError."""

    def make_ahead(self, wanted: Callable[[], Iterable[Wanted]]) -> None:
        """Make versions in the background, the first ones first, and not those wanted before.

        wanted is called in the background too.
        """

    def failed_ahead(self) -> list[tuple[int, str]]:
        """Return versions that were tried ahead and cannot be made, with the reason."""

    def same_as(self, place: int, known: Sequence[str]) -> str:
        """Return which of these is the same as one that was made, or ""."""

    def bring(self, wanted: Wanted) -> None:
        """Bring one that was made to the board; raises UnavailableError."""

    def attempt(
        self, wanted: Wanted, board: str, number: int, directory: Path, observer: Observer
    ) -> tuple[float, str]:
        """Make a run once and return its value and unit.

        Raises NoOutcomeError where it does not count, LostBoardError where the board is to blame,
        RequestError, and DiskError.
        """
