"""Knobs of one's own around a run, and a note of what they were until that is put back.

The commands are run from this machine, so that nobody at the board knows what was changed. What a
knob was is on the disk before it is set: a host that is killed finds it there the next time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from whylate.boards.board import Board, BoardError, Tell, tell_nobody
from whylate.boards.ready import ready
from whylate.lab.errors import LabError
from whylate.recording.errors import DiskError
from whylate.recording.path_part import path_part
from whylate.recording.store.lines import read_plan, write_plan
from whylate.run.knobs.commands import CommandKnob, CommandSetting, KnobError, read_knob, write_knob

UNDO = "undo"


class Old(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a knob was before it was set."""

    name: str
    knob: CommandKnob
    value: str


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be put back on a board. opened: its name, with the kernel that it had."""

    opened: str
    old: list[Old]


class NotPutBackError(BoardError):
    """A knob that could not be put back: the note of what it was is kept."""


def read_notes(directory: Path, boards: Sequence[str]) -> list[Note]:
    """Return what is still to be put back in a study; raises RecordingError."""
    undo = Undo(directory)
    return [note for board in boards if (note := undo.note(board)) is not None]


class Undo:
    """The notes of a study, one for each board that has something to be put back."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / UNDO

    def note(self, name: str) -> Note | None:
        """Return what is to be put back on a board of the plan; raises RecordingError."""
        path = self._path(name)
        return read_plan(path, Note, "there is no note") if path.exists() else None

    @contextmanager
    def around(self, name: str, settings: Sequence[CommandSetting], board: Board) -> Iterator[None]:
        """Set knobs for as long as the context lasts.

        Raises KnobError for one that does not take effect, or is another at the end,
        NotPutBackError, BoardError, DiskError.
        """
        if not settings:
            yield
            return
        old = [Old(one.name, one.knob, read_knob(board, one.name, one.knob)) for one in settings]
        note = Note(board.name, old)
        self._write(name, note)
        try:
            for one in settings:
                write_knob(board, one.name, one.knob, one.value)
            yield
            for one in settings:
                _check_kept(one, board)
        except BaseException:
            # What went wrong first is what is told. The note stays, and is seen to again.
            with contextlib.suppress(NotPutBackError):
                self._put_back(name, note, board)
            raise
        self._put_back(name, note, board)

    def put_back(self, name: str, open_board: Callable[[str], Board], tell: Tell) -> str:
        """Put back what a run left on a board; return why that failed, "" where it did not.

        Raises RecordingError for a note that is damaged, and DiskError.
        """
        note = self.note(name)
        if note is None:
            return ""
        why = ""
        try:
            with ready(open_board(note.opened), tell_nobody) as board:
                self._put_back(name, note, board)
        except (BoardError, LabError) as error:
            why = str(error)
        left = self.note(name)
        for one in note.old:
            if left is None or one not in left.old:
                tell(f"{note.opened}: command:{one.name} was put back to {one.value!r}")
        return why

    def _put_back(self, name: str, note: Note, board: Board) -> None:
        """Write what knobs were, the last one first; the note keeps those that cannot be."""
        failed: list[Old] = []
        said: list[str] = []
        for number, one in enumerate(reversed(note.old)):
            try:
                write_knob(board, one.name, one.knob, one.value)
            except KnobError as error:
                failed.insert(0, one)
                said.append(_not_put_back(one, str(error)))
            except BoardError as error:
                # It is gone: nothing of what is left can be done now.
                rest = note.old[: len(note.old) - number]
                failed = [*rest, *failed]
                said += [_not_put_back(old, str(error)) for old in reversed(rest)]
                break
        if failed:
            self._write(name, Note(note.opened, failed))
            raise NotPutBackError(
                f"{'; '.join(said)}: the same `whylate study run` tries again before anything else"
            )
        try:
            self._path(name).unlink()
        except OSError as error:
            raise DiskError(f"{self._path(name)} cannot be removed: {error.strerror}") from None

    def _write(self, name: str, note: Note) -> None:
        try:
            self._directory.mkdir(exist_ok=True)
        except OSError as error:
            raise DiskError(f"{self._directory} cannot be made: {error.strerror}") from None
        write_plan(self._path(name), note)

    def _path(self, name: str) -> Path:
        return self._directory / f"{path_part(name)}.json"


def _not_put_back(one: Old, why: str) -> str:
    return f"command:{one.name} could not be put back to {one.value!r} ({why})"


def _check_kept(one: CommandSetting, board: Board) -> None:
    """Raise KnobError for a knob that is no more what it was set to: the run was without it."""
    now = read_knob(board, one.name, one.knob)
    if now != one.value:
        raise KnobError(
            f"knob command:{one.name} was set to {one.value!r}, and {now!r} is read after the run: "
            "something else sets it"
        )
