"""Images as versions: each is what a board boots, as in a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from whylate.bisect.ordered.value import value_of_run
from whylate.bisect.ordered.versions import LostBoardError, Nouns, Wanted
from whylate.bisect.ordered_images.model import OrderedImagesPlan
from whylate.recording.errors import RecordingError
from whylate.run.knobs.apply import apply_knobs
from whylate.run.knobs.host_files import IMAGE
from whylate.run.progress import Observer
from whylate.stats.ordered_search.history import History
from whylate.study.attempt import Attempts, Open
from whylate.study.model import PlannedRun

NOUNS = Nouns(
    "images", "image", "images", "the image before it", "the first image", "the last image"
)


class ImageVersions:
    """Images in order, on one board."""

    nouns = NOUNS
    can_revert = False
    made_s: Sequence[float] = ()

    def __init__(
        self,
        plan: OrderedImagesPlan,
        directory: Path,
        open_board: Open,
        stopped: Callable[[], bool],
    ) -> None:
        self._plan = plan
        self._attempts = Attempts(directory, plan.study, open_board, stopped)
        self.boards: Sequence[str] = plan.study.boards
        self.names = [variant.knobs[IMAGE] for variant in plan.study.variants]
        self.history = History(len(self.names))

    def place(self, name: str) -> int:
        """Return the place of an image; raises RecordingError."""
        try:
            return self.names.index(name)
        except ValueError:
            raise RecordingError(
                f"a step has an image {name[:80]!r} that the plan has not"
            ) from None

    def title(self, place: int) -> str:
        """Return the path."""
        return self.names[place]

    def short(self, place: int) -> str:
        """Return the name of the file."""
        return Path(self.names[place]).name

    def before(self, place: int) -> int:
        """Return the image before one."""
        return place - 1

    def made(self) -> set[int]:
        """Return all: they are there."""
        return set(range(len(self.names)))

    def make(self, wanted: Wanted) -> None:
        """Make nothing."""

    def make_ahead(self, wanted: Callable[[], Iterable[Wanted]]) -> None:
        """Make nothing."""

    def failed_ahead(self) -> list[tuple[int, str]]:
        """Return none."""
        return []

    def same_as(self, place: int, known: Sequence[str]) -> str:
        """Return an image with the same content, or ""."""
        sums = self._plan.study.image_sha256
        ours = sums[self.names[place]]
        return next((name for name in known if sums[name] == ours), "")

    def bring(self, wanted: Wanted) -> None:
        """Bring nothing: the board gets it as it boots."""

    def attempt(
        self, wanted: Wanted, board: str, number: int, directory: Path, observer: Observer
    ) -> tuple[float, str]:
        """Make a run once and return its value and unit; raises as its protocol says."""
        study = self._plan.study
        run = PlannedRun(board, study.loads[0].name, f"run-{number}", number)
        applied = apply_knobs(study.request, study.variants[wanted.place].knobs, study.knobs)
        outcome = self._attempts.make(self._attempts.job(run, applied, directory, observer))
        if reason := self._attempts.put_back(board, observer.log):
            raise LostBoardError(f"{reason}; the same command goes on where it was")
        return value_of_run(outcome, applied, self._plan.statistic)

    def leave(self, observer: Observer, *, over: bool) -> str:
        """Leave the board as it was, its card with the first image; return why not, or ""."""
        board = self._plan.study.boards[0]
        reason = self._attempts.put_back(board, observer.log, over=True)
        return self._attempts.leave_card(board, observer.log, over=over and not reason) or reason
