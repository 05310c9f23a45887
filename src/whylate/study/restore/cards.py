"""Images on the cards of a study's boards: written before a run that needs another image.

A virtual board has no card: its image is a root file system, with which it boots each time.

The former content of a card is not kept: a plan names an image for each variant, and a finished
study leaves the image of the first variant. A note in the study's directory lists each board whose
card may hold another image, in case the host is killed. An image is read back after the write
(boards.flash), and must have the content that the file had when the study began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol, runtime_checkable

from whylate.boards.board import Board, Notify, notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.flash import card_of, flash
from whylate.boards.ready import Boot, boot, held
from whylate.files import sha256_of_named
from whylate.lab.errors import LabError
from whylate.recording.errors import DiskError
from whylate.run.errors import RequestError
from whylate.run.knobs.host_files import IMAGE, file_for, host_files
from whylate.study.model import StudyPlan, Variant
from whylate.text import path_part, plain


@runtime_checkable
class TakesRoot(Protocol):
    """A virtual board, whose image is the tarball of a root file system."""

    def use_root(self, root: Path, sha256: str) -> None:
        """Boot this tarball from the next boot on, if it still has that hash."""


#: Below the study's directory: an empty file for each board whose card must still get the image of
#: the first variant.
CARDS = "cards"


def hash_images(variants: Iterable[Variant], boards: Sequence[str] = ()) -> dict[str, str]:
    """Return the SHA-256 of each file that variants name for boards; raises RequestError."""
    files: dict[str, str] = {}
    for variant in variants:
        files |= host_files(variant.knobs, boards)
    return {path: sum_of(path, knob) for path, knob in files.items()}


class Cards:
    """The cards of a study's boards, and what they hold as far as this process has written it."""

    def __init__(self, directory: Path, plan: StudyPlan) -> None:
        self._directory = directory / CARDS
        self._sums = dict(plan.image_sha256)
        self._base = plan.variants[0].knobs.get(IMAGE, "")
        self._on: dict[str, str] = {}

    def boot(self, name: str, image: str) -> Boot:
        """Return the function that boots a board with an image; "": the image that it has.

        The board is switched off before, even if its card holds that image, so that each run begins
        alike. Raises BoardError, and RequestError where that cannot be.
        """
        return partial(self._boot, name, file_for(name, image)) if image else boot

    def know(self, image: str, sha256: str) -> None:
        """Take the hash of an image that was made while the plan is carried out."""
        self._sums[image] = sha256

    def opened(self, name: str, board: Board, image: str) -> Board:
        """Return a board just opened; a virtual one boots the image, a root, from now on."""
        if image and isinstance(board, TakesRoot):
            # An image that the plan does not name is there by its path.
            path = image if image in self._sums else file_for(name, image)
            board.use_root(Path(path), self._sums[path])
        return board

    def leave(
        self, name: str, open_board: Callable[[str], Board], notify: Notify, over: bool
    ) -> str:
        """Write the image of the first variant to the card of a board, if the study is over.

        Return why that failed, or "". Raises DiskError.
        """
        if not self._note(name).exists():
            return ""
        if not over:
            image = self._on.get(name)
            if image is None:
                notify(f"{name}: what its card holds is not known")
            else:
                notify(f"{name} has {image} on its card")
            return ""
        base = file_for(name, self._base)
        try:
            with held(open_board(name), notify_nobody) as board:
                self._boot(name, base, board, notify_nobody)
        except (BoardError, LabError, RequestError) as error:
            return f"its card could not be given {base} again: {error}"
        notify(f"{name} has {base} on its card again")
        return ""

    def _boot(self, name: str, image: str, board: Board, notify: Notify) -> None:
        # A virtual board has no card: it has been given its root.
        if self._on.get(name) == image or isinstance(board, TakesRoot):
            if board.power is not None:
                board.power.off()
            board.boot(notify)
            return
        try:
            card = card_of(board)
        except BoardError as error:
            raise RequestError(f"knob image: {error}") from None
        if sum_of(image) != self._sums[image]:
            raise RequestError(f"knob image: {image} is not what it was when the study began")
        # An interrupted write leaves no image.
        self._on.pop(name, None)
        self._mark(name)
        flash(board, card, Path(image), notify)
        self._on[name] = image
        if image == file_for(name, self._base):
            self._note(name).unlink(missing_ok=True)

    def _note(self, name: str) -> Path:
        return self._directory / path_part(name)

    def _mark(self, name: str) -> None:
        try:
            self._directory.mkdir(exist_ok=True)
            self._note(name).touch()
        except OSError as error:
            raise DiskError(f"{self._note(name)} cannot be made: {error.strerror}") from None


def sum_of(name: str, knob: str = IMAGE) -> str:
    """Return the SHA-256 of a file of this machine that a knob names; raises RequestError."""
    try:
        return sha256_of_named(name)
    except OSError as error:
        raise RequestError(
            f"knob {knob}: {plain(name, 200)} cannot be read: {error.strerror}"
        ) from None
