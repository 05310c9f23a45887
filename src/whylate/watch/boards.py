"""All that is seen of boards, collected from their directories of state."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from whylate.boards.notes import (
    Use,
    read_holder,
    read_image,
    read_name,
    read_power,
    read_runs,
    read_uses,
)
from whylate.boards.qemu.machine import Machine
from whylate.boards.state import BoardLock, state_directories
from whylate.lab.description import names
from whylate.recording.console.log import NAME as CONSOLE
from whylate.recording.errors import RecordingError
from whylate.recording.manifest import Fact, Manifest
from whylate.recording.moments import text_of
from whylate.recording.reader import read_manifest
from whylate.text import plain
from whylate.watch.console_tail import ConsoleTail
from whylate.watch.model import BoardView, ConsoleView, LastRun, PowerState, RunView, UseView
from whylate.watch.run_so_far import RunSoFar

#: Boards that are watched at the same time.
MOST_BOARDS = 64
#: As much as is read of a command line. What shows it cuts it further.
_COMMAND = 4096


@dataclass(frozen=True)
class Place:
    """A board, by its name and its directory of state."""

    name: str
    directory: Path


def used_places() -> list[Place]:
    """Return the boards that whylate has used on this machine; raises BoardError.

    Those in use first: of many boards, whoever shows some shows those.
    """
    return [place for _, place in _used()]


def places_in_use() -> list[Place]:
    """Return the boards that a process uses now; raises BoardError."""
    return [place for is_free, place in _used() if not is_free]


def _used() -> list[tuple[bool, Place]]:
    """Return the boards that were used, those in use first; beside each whether it is free."""
    named = [
        (not read_uses(path), Place(name, path))
        for path in state_directories()
        if (name := read_name(path)) is not None
    ]
    return sorted(named, key=lambda each: (each[0], each[1].name))


class Watch:
    """Watches boards. Reads files alone: no board, console or process notices.

    places: returns the boards to be shown now, of which the first MOST_BOARDS are. consoles:
    whether their consoles and the runs in progress are read too; without them all are shown.
    """

    def __init__(self, places: Callable[[], Sequence[Place]], *, consoles: bool = True) -> None:
        self._places = places
        self._consoles = consoles
        #: Boards that the last poll() left out, because there are too many.
        self.left_out = 0
        self._watched: dict[Path, _Watched] = {}

    def poll(self) -> list[BoardView]:
        """Return what is seen now; raises BoardError where the directories cannot be read."""
        places = self._places()
        shown = places[:MOST_BOARDS] if self._consoles else places
        self.left_out = len(places) - len(shown)
        watched: dict[Path, _Watched] = {}
        for place in shown:
            known = self._watched.pop(place.directory, None)
            watched[place.directory] = known or _Watched(place, consoles=self._consoles)
        self._watched = watched
        return [board.poll() for board in watched.values()]


class _Watched:
    """A board, with what was read of it so far."""

    def __init__(self, place: Place, *, consoles: bool) -> None:
        self._place = place
        self._consoles = consoles
        self._tail: tuple[Path, ConsoleTail] | None = None
        self._run: RunSoFar | None = None
        self._last: tuple[str, Manifest | None] | None = None

    def poll(self) -> BoardView:
        """Return what is seen now."""
        directory = self._place.directory
        uses = read_uses(directory)
        recordings = read_runs(directory)
        run = self._poll_run(uses, recordings) if self._consoles else None
        last = self._read_last(recordings)
        facts = (
            self._run.facts
            if self._run is not None and self._run.facts
            else (last.facts if last is not None else [])
        )
        power, note = _power(self._place)
        image = read_image(directory)
        return BoardView(
            name=plain(self._place.name, 80),
            power=power,
            power_note=note,
            uses=_uses(directory, self._place.name, uses),
            image=plain(image.image, 120) if image is not None else _kernel(facts),
            seen=_seen(directory),
            console=self._poll_console(uses) if self._consoles else None,
            run=run,
            last=_last_run(recordings[-1], last) if recordings else None,
            temperature=_listed(facts, "temperatures"),
            frequency=_listed(facts, "cpu_frequency_measured"),
        )

    def _poll_run(self, uses: Sequence[Use], recordings: list[str]) -> RunView | None:
        recording = next((Path(use.recording) for use in uses if use.recording is not None), None)
        if recording is None:
            self._run = None
            return None
        if self._run is None or self._run.recording != recording:
            self._run = RunSoFar(recording)
        return self._run.poll(recordings)

    def _poll_console(self, uses: Sequence[Use]) -> ConsoleView | None:
        path = _console(self._place.directory, uses)
        if self._tail is None or self._tail[0] != path:
            self._tail = path, ConsoleTail(path)
        return self._tail[1].poll()

    def _read_last(self, recordings: Sequence[str]) -> Manifest | None:
        """Return the manifest of the latest run, read once."""
        if not recordings:
            return None
        if self._last is None or self._last[0] != recordings[-1]:
            manifest = None
            with contextlib.suppress(RecordingError, OSError):
                manifest = read_manifest(Path(recordings[-1]))
            self._last = recordings[-1], manifest
        return self._last[1]


def _console(directory: Path, uses: Sequence[Use]) -> Path:
    """Return the log that shows a board's console now."""
    for use in uses:
        if use.framed and use.recording is not None:
            # Its copy in the recording has the text alone.
            return Path(use.recording) / CONSOLE
        if use.console is not None:
            return Path(use.console)
    return directory / CONSOLE


def _uses(directory: Path, board: str, uses: Sequence[Use]) -> list[UseView]:
    shown = []
    for use in uses:
        holder = read_holder(use.pid)
        if holder is not None:
            command = plain(" ".join(holder.words), _COMMAND)
            who = plain(f"process {use.pid} of {holder.user}", 80)
            shown.append(UseView(who, command, use.since))
    if not shown and (owner := BoardLock(directory, board).seen_owner()) is not None:
        shown.append(UseView(plain(owner, 120), "", ""))
    return shown


def _power(place: Place) -> tuple[PowerState, str]:
    """Return whether a board is on, and how that is known; its supply is not asked."""
    # A target of a bench may have any name; its directory has another one.
    own = place.directory.name == place.name
    if own and place.name == "local":
        return "on", "this machine"
    if own and place.name in names():
        return ("on" if Machine(place.directory).pid is not None else "off"), ""
    switched = read_power(place.directory)
    if switched is None:
        return "unknown", ""
    return ("on" if switched.on else "off"), f"switched at {switched.when}"


def _seen(directory: Path) -> str:
    """Return when a board was last used or printed anything."""
    notes = [path for path in directory.glob("*.json") if not path.is_symlink()]
    latest = 0.0
    for path in (directory / CONSOLE, *notes):
        with contextlib.suppress(OSError):
            latest = max(latest, path.stat().st_mtime)
    return text_of(latest) if latest else ""


def _kernel(facts: Sequence[Fact]) -> str:
    """Return the kernel that the latest run saw."""
    value = next((fact.value for fact in facts if fact.name == "kernel_release"), None)
    return plain(str(value), 120) if value is not None else ""


def _listed(facts: Sequence[Fact], name: str) -> str:
    """Return a fact in one line; "" where the board has none."""
    value = next((fact.value for fact in facts if fact.name == name), None)
    if value is None:
        return ""
    return plain(", ".join(map(str, value)) if isinstance(value, list) else str(value), 200)


def _last_run(recording: str, manifest: Manifest | None) -> LastRun:
    shown = plain(recording, 400)
    if manifest is None:
        return LastRun(shown, "", "its recording is not there any more", sound=False)
    created = plain(manifest.created, 40)
    crash = next((crash for crash in manifest.crashes if crash.fatal), None)
    problem = next((problem for problem in manifest.problems if problem.fatal), None)
    if crash is not None:
        return LastRun(shown, created, plain(f"the board crashed: {crash.headline}", 200), False)
    if problem is not None:
        return LastRun(shown, created, plain(problem.text, 200), sound=False)
    return LastRun(shown, created, manifest.state, sound=manifest.state == "complete")
