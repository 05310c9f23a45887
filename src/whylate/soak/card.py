"""The card of a soak whose cycles write an image to it: what it had, and what it has now.

Before the first write, the bytes that the image overwrites are kept in the soak's directory, unless
there is an image to recover the board with. That one, or what was kept, is written to the card when
the board does not boot, and at the end. What a board wrote beyond those bytes stays.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Literal

import msgspec

from whylate.boards.board import Board, Notify
from whylate.boards.flash import card_of, read_card, write_card
from whylate.boards.image_file import open_image
from whylate.boards.notes import forget_image, note_image, read_image, state_of
from whylate.files import sha256_of_named
from whylate.recording.bounds import Count
from whylate.recording.store.lines import read_plan, write_plan
from whylate.run.errors import RequestError
from whylate.soak.model import CycleFlash, SoakPlan
from whylate.text import plain

STATE = "card.json"
#: What the card had, where it is kept.
BEFORE = "card-before.img.gz"

#: before: nothing was written yet. image: that of the soak. good: the one that recovers the board.
#: unknown: a write was not ended. left: the soak is over, and the card has what it is left with.
OnCard = Literal["before", "image", "good", "unknown", "left"]


class CardState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """card.json: what is on the card.

    kept_bytes: of what it had; 0: it is not kept. noted: the name of the image that whylate had
    written to it last; "": none.
    """

    on_card: OnCard
    kept_bytes: Count = 0
    noted: str = ""


def read_card_state(directory: Path) -> CardState | None:
    """Return what a soak left on the card; None for one without an image. Raises RecordingError."""
    path = directory / STATE
    if not path.exists():
        return None
    return read_plan(path, CardState, f"{directory} is damaged")


def sum_of_image(image: str) -> str:
    """Return the SHA-256 of an image's file; raises RequestError."""
    try:
        return sha256_of_named(image)
    except OSError as error:
        raise RequestError(f"{plain(image, 200)} cannot be read: {error.strerror}") from None


class SoakCard:
    """The card of a board that is held, for a soak with an image in its plan.

    Raises BoardError for a board without an SD mux, and RecordingError for a damaged card.json.
    """

    def __init__(self, board: Board, plan: SoakPlan, directory: Path) -> None:
        assert plan.flash is not None  # noqa: S101 - the caller's
        self._board = board
        self._card = card_of(board)
        self._plan = plan
        self._image = plan.flash
        self._directory = directory
        self._state = read_card_state(directory) or CardState("before")

    @property
    def good(self) -> Path:
        """The image that recovers the board."""
        return Path(self._plan.recover) if self._plan.recover else self._directory / BEFORE

    def keep(self, notify: Notify) -> None:
        """Keep what the card has, before the first write; the board is then off.

        Raises BoardError and DiskError.
        """
        image = open_image(Path(self._image), notify)
        if self._state.on_card not in ("before", "left"):
            return
        if self._plan.recover is not None:
            open_image(Path(self._plan.recover), notify)
            return
        noted = read_image(state_of(self._board))
        read_card(self._board, self._card, image.size, self.good, notify)
        self._note(CardState("before", image.size, noted.image if noted is not None else ""))

    def write(self, notify: Notify) -> CycleFlash:
        """Write the image and read it back; the board is then off.

        Raises BoardError, RequestError for an image that is another one by now, DiskError, and what
        `notify` raises.
        """
        began = time.monotonic()
        self._write(Path(self._image), self._plan.flash_sha256, "image", notify)
        return self.written(began, verified=True)

    def written(self, began: float, *, verified: bool) -> CycleFlash:
        """Return the record of a write that began at this time (monotonic)."""
        took_s = round(time.monotonic() - began, 3)
        return CycleFlash(sha256=self._plan.flash_sha256 or "", flash_s=took_s, verified=verified)

    def write_good(self, notify: Notify) -> None:
        """Write the image that recovers the board, unless the card has it; raises as write()."""
        if self._state.on_card in ("image", "unknown"):
            self._write(self.good, self._plan.recover_sha256, "good", notify)

    def leave(self, notify: Notify) -> None:
        """Write what the card had, or the image that recovers the board; raises as write()."""
        self.write_good(notify)
        if self._state.on_card != "good":
            return
        kept = self._state
        self._note(CardState("left", kept.kept_bytes))
        if self._plan.recover is None:
            if kept.noted:
                note_image(self._board, Path(kept.noted))
            else:
                forget_image(self._board)
            with contextlib.suppress(OSError):
                self.good.unlink(missing_ok=True)

    def _write(self, image: Path, sha256: str | None, then: OnCard, notify: Notify) -> None:
        if sha256 is not None and sum_of_image(str(image)) != sha256:
            raise RequestError(f"{image} is not what it was when the soak began")
        # Where this process is killed, the next one knows that the card has half of it.
        self._note(msgspec.structs.replace(self._state, on_card="unknown"))
        write_card(self._board, self._card, image, notify)
        self._note(msgspec.structs.replace(self._state, on_card=then))

    def _note(self, state: CardState) -> None:
        self._state = state
        write_plan(self._directory / STATE, state)
