"""What whylate notes of a board beside its lock, for whoever watches it.

The process that has a board writes these files in the board's directory of state, and others only
read them: nobody needs to ask the board, or the process. A note that cannot be written is left out,
and a former one that is wrong by then is removed: the disk may be full of what the board printed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pwd
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from whylate.boards.board import Board
from whylate.boards.errors import BoardError
from whylate.boards.state import state_directory
from whylate.files import read_bounded, write_whole
from whylate.recording.manifest import MANIFEST
from whylate.recording.moments import now_text

#: Runs that are remembered of a board.
MOST_RUNS = 50
_MOST_BYTES = 1 << 20
_USE = "use-{}.json"
_USES = re.compile(r"use-(\d{1,10})\.json")
_RUNS = "runs.json"
_BOARD = "board.json"
_POWER = "power.json"
_IMAGE = "image.json"
#: What a process that was killed while it wrote a note has left, and how old it is then.
_PARTIALS = re.compile(r"(?:use-\d{1,10}|runs|board|power|image)\.json\.[0-9a-f]+\.partial")
_STALE_S = 60.0
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


class Use(msgspec.Struct, frozen=True):
    """A use of a board by a process, from taking the board to releasing it.

    began: when the process started, in clock ticks since the host booted: process numbers are used
    again. console: the file to which the board's console is written; framed: the probe's frames are
    in it. recording: the directory of the run in progress.
    """

    board: str
    pid: int
    began: int
    since: str
    console: str | None = None
    framed: bool = False
    recording: str | None = None


class Named(msgspec.Struct, frozen=True):
    """The name by which the user calls a board."""

    board: str


class Runs(msgspec.Struct, frozen=True):
    """The directories of the latest recordings of a board, the latest last."""

    recordings: list[str] = []


class Switched(msgspec.Struct, frozen=True):
    """The last time that whylate switched a board's supply."""

    on: bool
    when: str


class Flashed(msgspec.Struct, frozen=True):
    """The image that whylate wrote to a board's card last."""

    image: str
    when: str


@dataclass(frozen=True)
class Holder:
    """The process that uses a board. words: its command line, without the interpreter."""

    pid: int
    user: str
    words: tuple[str, ...]


def state_name_of(board: str) -> str:
    """Return the name of the state directory of a board that is not on a bench."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,40}", board):
        return board
    where = hashlib.sha256(board.encode(errors="surrogateescape")).hexdigest()[:8]
    return f"at-{_UNFIT.sub('-', board.removeprefix('ssh://'))[:24]}-{where}"


def state_of(board: Board) -> Path:
    """Return the directory of state of a board, made where it is not; raises BoardError."""
    return state_directory(getattr(board, "state_name", None) or state_name_of(board.name))


#: The uses of this process, by the names of the boards.
_ours: dict[str, tuple[Path, Use]] = {}


@contextmanager
def noted_use(board: Board) -> Iterator[None]:
    """Note that this process uses a board that it holds, for the duration of the context."""
    name = board.name
    began = _began(os.getpid())
    try:
        directory = state_of(board)
    except BoardError:
        began = None
    if began is None or name in _ours:
        yield
        return
    console = board.console
    use = Use(
        board=name,
        pid=os.getpid(),
        began=began,
        since=now_text(),
        console=str(console.log.absolute()) if console is not None else None,
        framed=bool(getattr(console, "framed", False)),
    )
    _ours[name] = directory, use
    _write(directory / _BOARD, Named(name))
    _remove_stale(directory)
    path = directory / _USE.format(use.pid)
    _write(path, use)
    try:
        yield
    finally:
        del _ours[name]
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


@contextmanager
def noted_run(board: str, recording: Path) -> Iterator[None]:
    """Note the recording that this process makes of a board that it uses, and then that it did."""
    directory, use = _ours.get(board, (None, None))
    if directory is None or use is None:
        yield
        return
    path = directory / _USE.format(use.pid)
    where = str(recording.absolute())
    _write(path, msgspec.structs.replace(use, recording=where))
    try:
        yield
    finally:
        if (recording / MANIFEST).exists():
            known = [run for run in read_runs(directory) if run != where]
            _write(directory / _RUNS, Runs([*known, where][-MOST_RUNS:]))
        _write(path, use)


def forget_run(board: str, recording: Path) -> None:
    """Remove a recording that was removed from the notes of a board that this process uses."""
    directory, _ = _ours.get(board, (None, None))
    if directory is not None:
        gone = str(recording.absolute())
        _write(directory / _RUNS, Runs([run for run in read_runs(directory) if run != gone]))


def note_power(state_name: str, *, on: bool) -> None:
    """Note that a board's supply was switched."""
    with contextlib.suppress(BoardError):
        _write(state_directory(state_name) / _POWER, Switched(on, now_text()))


def note_image(board: Board, image: Path) -> None:
    """Note that an image was written to a board's card."""
    with contextlib.suppress(BoardError):
        _write(state_of(board) / _IMAGE, Flashed(image.name, now_text()))


def forget_image(board: Board) -> None:
    """Remove the note of a card's image: from now on the card holds what nobody knows."""
    with contextlib.suppress(BoardError, OSError):
        (state_of(board) / _IMAGE).unlink(missing_ok=True)


def read_name(directory: Path) -> str | None:
    """Return the name of the board whose state a directory has; None if it was never used."""
    named = _read(directory / _BOARD, Named)
    return named.board if named is not None else None


def read_uses(directory: Path) -> list[Use]:
    """Return the uses of a board by processes that live, the first one first."""
    uses = []
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            use = _read(path, Use) if _USES.fullmatch(path.name) else None
            if use is not None and _began(use.pid) == use.began:
                uses.append(use)
    return sorted(uses, key=lambda use: use.since)


def read_runs(directory: Path) -> list[str]:
    """Return the directories of a board's latest recordings that are there, the latest last."""
    runs = _read(directory / _RUNS, Runs)
    return [run for run in runs.recordings if _is_there(run)] if runs is not None else []


def _is_there(recording: str) -> bool:
    try:
        return Path(recording).is_dir()
    except (OSError, ValueError):
        return False


def read_power(directory: Path) -> Switched | None:
    """Return when whylate last switched a board; None: never."""
    return _read(directory / _POWER, Switched)


def read_image(directory: Path) -> Flashed | None:
    """Return what whylate last wrote to a board's card; None: nothing."""
    return _read(directory / _IMAGE, Flashed)


def read_holder(pid: int) -> Holder | None:
    """Return what is known of a process; None where it has ended."""
    try:
        uid = Path(f"/proc/{pid}").stat().st_uid
        line = Path(f"/proc/{pid}/cmdline").read_bytes()[:4096]
    except OSError:
        return None
    words = [word.decode(errors="replace") for word in line.rstrip(b"\0").split(b"\0")]
    for number, word in enumerate(words[:6]):
        if word == "whylate" or word.endswith(("/whylate", "/whylate/__main__.py")):
            words = words[number + 1 :]
            break
    try:
        user = pwd.getpwuid(uid).pw_name
    except KeyError:
        user = str(uid)
    return Holder(pid, user, tuple(words))


def _began(pid: int) -> int | None:
    """Return when a process started, in clock ticks since boot; None where it has ended."""
    try:
        # The name of the program may hold anything but ends with the last parenthesis.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return int(fields[19]) if fields[0] not in {"Z", "X"} else None
    except (OSError, ValueError, IndexError):
        return None


def _remove_stale(directory: Path) -> None:
    """Remove the notes of processes that were killed, and those that were half written."""
    with contextlib.suppress(OSError):
        for path in directory.iterdir():
            if (match := _USES.fullmatch(path.name)) is not None:
                stale = _began(int(match[1])) is None
            else:
                stale = _PARTIALS.fullmatch(path.name) is not None and _is_old(path)
            if stale:
                path.unlink(missing_ok=True)


def _is_old(path: Path) -> bool:
    """Whether nobody writes a file any more; raises OSError."""
    return abs(time.time() - path.lstat().st_mtime) > _STALE_S


T = TypeVar("T")


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(read_bounded(path, _MOST_BYTES), type=kind)
    except (OSError, msgspec.ValidationError, msgspec.DecodeError):
        return None


def _write(path: Path, note: msgspec.Struct) -> None:
    """Write a note; where that fails, remove the former one if it is wrong by now."""
    try:
        write_whole(path, msgspec.json.encode(note))
    except (OSError, UnicodeEncodeError):
        # A name that is no Unicode has no note, either.
        if not isinstance(note, Named | Runs):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
