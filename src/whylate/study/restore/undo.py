"""Set command knobs around a run, with a note on disk of their former values.

The host runs the commands, so nothing on the board restores them. The former value is on disk
before a knob is set: after a host was killed, the next start restores it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from whylate.boards.board import Board, Notify, notify_nobody
from whylate.boards.errors import BoardError
from whylate.boards.ready import ready
from whylate.lab.errors import LabError
from whylate.recording.errors import DiskError
from whylate.recording.store.lines import read_plan, write_plan
from whylate.run.knobs.commands import CommandKnob, CommandSetting, KnobError, read_knob, write_knob
from whylate.text import path_part

UNDO = "undo"


class Old(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a knob was before it was set."""

    name: str
    knob: CommandKnob
    value: str


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be put back on a board. opened: the name by which it was opened."""

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

        Raises KnobError for a knob without effect or one that changed during the run,
        NotPutBackError, BoardError, DiskError.
        """
        if not settings:
            yield
            return
        old = [
            Old(item.name, item.knob, read_knob(board, item.name, item.knob)) for item in settings
        ]
        note = Note(board.name, old)
        self._write(name, note)
        try:
            for setting in settings:
                write_knob(board, setting.name, setting.knob, setting.value)
            yield
            for setting in settings:
                _check_kept(setting, board)
        except BaseException:
            # The first error is raised. The note stays for the next attempt.
            with contextlib.suppress(NotPutBackError):
                self._put_back(name, note, board)
            raise
        self._put_back(name, note, board)

    def put_back(self, name: str, open_board: Callable[[str], Board], notify: Notify) -> str:
        """Put back what a run left on a board; return why that failed, "" where it did not.

        Raises RecordingError for a note that is damaged, and DiskError.
        """
        note = self.note(name)
        if note is None:
            return ""
        why = ""
        try:
            with ready(open_board(note.opened), notify_nobody) as board:
                self._put_back(name, note, board)
        except (BoardError, LabError) as error:
            why = str(error)
        left = self.note(name)
        for old in note.old:
            if left is None or old not in left.old:
                notify(f"{note.opened}: command:{old.name} was put back to {old.value!r}")
        return why

    def _put_back(self, name: str, note: Note, board: Board) -> None:
        """Write the former values, the last knob first; the note keeps those that fail."""
        failed: list[Old] = []
        reasons: list[str] = []
        for number, old in enumerate(reversed(note.old)):
            try:
                write_knob(board, old.name, old.knob, old.value)
            except KnobError as error:
                failed.insert(0, old)
                reasons.append(_not_put_back(old, str(error)))
            except BoardError as error:
                # The board is gone: the rest cannot be restored now.
                rest = note.old[: len(note.old) - number]
                failed = [*rest, *failed]
                reasons += [_not_put_back(item, str(error)) for item in reversed(rest)]
                break
        if failed:
            self._write(name, Note(note.opened, failed))
            raise NotPutBackError(
                f"{'; '.join(reasons)}: the same `whylate study run` first tries again"
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


def _not_put_back(old: Old, why: str) -> str:
    return f"command:{old.name} could not be put back to {old.value!r} ({why})"


def _check_kept(setting: CommandSetting, board: Board) -> None:
    """Raise KnobError for a knob that changed during the run."""
    now = read_knob(board, setting.name, setting.knob)
    if now != setting.value:
        raise KnobError(
            f"knob command:{setting.name} was set to {setting.value!r}, and {now!r} is read "
            "after the run: something else sets it"
        )
