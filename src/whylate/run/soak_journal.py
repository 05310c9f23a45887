"""The directory of a soak: its plan, a line for each cycle, and what each cycle left.

soak.json      the plan, which every cycle shares
begun.json     how the board was found
cycles.jsonl   one line for each cycle, on the disk before the next cycle begins
cycles/000001  console.log from power-on to power-off, and the recording of the run
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

import msgspec

from whylate import __version__
from whylate.boards.console.sieve import FrameSieve
from whylate.recording.crashes import find_crashes
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.lines import LineWriter, read_lines, read_plan, write_plan
from whylate.run.console import NO_END
from whylate.run.request import RequestError
from whylate.run.soak_model import SCHEMA_VERSION, Begun, Cycle, SoakPlan

PLAN = "soak.json"
BEGUN = "begun.json"
JOURNAL = "cycles.jsonl"
CYCLES = "cycles"
CONSOLE = "console.log"
RECORDING = "recording"


def read_soak(directory: Path) -> tuple[SoakPlan, list[Cycle]]:
    """Return the plan of a soak and its cycles so far; raises RecordingError."""
    plan = read_plan(directory / PLAN, SoakPlan, f"{directory} is not a soak of whylate")
    if plan.schema_version > SCHEMA_VERSION:
        raise RecordingError(
            f"{directory} was written by a newer whylate (schema {plan.schema_version}): update it"
        )
    return plan, read_lines(directory / JOURNAL, Cycle)[0]


class SoakJournal:
    """A soak that goes on: keeps the directory for this process and writes each cycle's line.

    Raises RequestError for a directory that holds something else, or a soak of another plan, and
    DiskError where it cannot be written.
    """

    def __init__(self, directory: Path, plan: SoakPlan) -> None:
        self.directory = directory
        self.plan = plan
        try:
            if not (directory / PLAN).exists():
                if directory.exists() and any(directory.iterdir()):
                    raise RequestError(
                        f"{directory} exists and is no soak: choose another name with -o"
                    )
                (directory / CYCLES).mkdir(parents=True, exist_ok=True)
                write_plan(directory / PLAN, plan)
        except OSError as error:
            raise DiskError(f"{directory} cannot be written: {error.strerror}") from None
        try:
            self._lines = LineWriter(directory / JOURNAL)
        except BlockingIOError:
            raise RequestError(
                f"{directory} is the soak of another whylate that still runs"
            ) from None
        try:
            self._must_be_ours()
            self.cycles = self._recover()
        except BaseException:
            self._lines.close()
            raise
        #: Counts from 1; another one with each start of the same soak.
        self.session = max((one.session for one in self.cycles), default=0) + 1

    def __enter__(self) -> SoakJournal:
        """Keep it open."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let others have the directory."""
        self._lines.close()

    def found(self, on: bool | None) -> bool | None:
        """Return how the board was found when the soak began, which is now if it begins now."""
        path = self.directory / BEGUN
        if path.exists():
            return read_plan(path, Begun, f"{self.directory} is damaged").found_on
        now = datetime.now(UTC).isoformat(timespec="seconds")
        write_plan(path, Begun(now, __version__, on))
        return on

    def begin(self) -> tuple[int, Path]:
        """Return the next cycle's number, and its directory, which is new."""
        number = self.cycles[-1].cycle + 1 if self.cycles else 1
        place = cycle_directory(self.directory, number)
        try:
            # One that was begun and not told of holds nothing that anybody has seen.
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
        except OSError as error:
            raise DiskError(f"{place} cannot be made: {error.strerror}") from None
        return number, place

    def append(self, cycle: Cycle) -> None:
        """Write a cycle's line; it is on the disk when this returns. Raises DiskError."""
        self._lines.append(cycle)
        self.cycles.append(cycle)

    def _must_be_ours(self) -> None:
        held = msgspec.structs.asdict(read_soak(self.directory)[0])
        wanted = msgspec.structs.asdict(self.plan)
        for name in wanted:
            if held[name] != wanted[name]:
                raise RequestError(
                    f"{self.directory} is a soak with {_option(name)} "
                    f"{_said(held[name])}, not {_said(wanted[name])}: give the same command again "
                    "to go on with it, or choose another name with -o"
                )

    def _recover(self) -> list[Cycle]:
        """Return the cycles so far; one that a killed host left half done is told of now."""
        path = self.directory / JOURNAL
        self.cycles, good = read_lines(path, Cycle)
        self._lines.cut(good)
        number = self.cycles[-1].cycle + 1 if self.cycles else 1
        place = cycle_directory(self.directory, number)
        if place.is_dir():
            began = datetime.fromtimestamp(place.stat().st_mtime, UTC)
            session = max((one.session for one in self.cycles), default=1)
            # What the board had said by then is its own doing.
            crash = _crash(place / CONSOLE)
            self.append(
                Cycle(
                    cycle=number,
                    session=session,
                    started=began.isoformat(timespec="seconds"),
                    outcome="interrupted" if crash is None else "crashed",
                    stage="unknown",
                    why="whylate was killed" if crash is None else crash,
                )
            )
        return self.cycles


def cycle_directory(directory: Path, number: int) -> Path:
    """Return where a cycle's console log and recording are."""
    return directory / CYCLES / f"{number:06d}"


def _crash(console: Path) -> str | None:
    """Return the headline of the first crash in a console's log, or None."""
    try:
        log = console.read_bytes()
    except OSError:
        return None
    # The probe's frames may stand among the text; where there are none, all of it is text.
    sieve = FrameSieve(NO_END)
    text = sieve.feed(log)[1] + sieve.finish()[1]
    return next((one.headline for one in find_crashes(text) if one.fatal), None)


def _option(field: str) -> str:
    """Return a field of a plan as a user knows it."""
    return field.removesuffix("_ns").removesuffix("_s").replace("_", "-")


def _said(value: object) -> str:
    """Return a value of a plan as a user knows it."""
    if isinstance(value, list):
        return ", ".join(str(getattr(item, "kind", item)) for item in value) or "none"
    if isinstance(value, int) and value >= 1_000_000:
        return f"{value / 1e9:g} s"
    if isinstance(value, float):
        return f"{value:g} s"
    return str(value)
