"""The directory of a study: its plan, a line for each run, and the recordings.

study.json                       the plan
runs.jsonl                       one line for each run, on the disk before the next one begins
runs/BOARD/LOAD/VARIANT/ROUND    the recordings: whylate compare takes two of these directories
"""

from __future__ import annotations

import re
import threading
from pathlib import Path
from types import TracebackType

import msgspec

from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.lines import LineWriter, read_lines, read_plan, write_plan
from whylate.run.request import RequestError
from whylate.study.model import SCHEMA_VERSION, Done, Place, StudyPlan

PLAN = "study.json"
JOURNAL = "runs.jsonl"
RUNS = "runs"
#: What of a plan may be another when a study goes on.
_MAY_CHANGE = frozenset({"stop", "budget_ns"})


def read_study(directory: Path) -> tuple[StudyPlan, list[Done]]:
    """Return the plan of a study and its runs so far; raises RecordingError."""
    plan = read_plan(directory / PLAN, StudyPlan, f"{directory} is not a study of whylate")
    if plan.schema_version > SCHEMA_VERSION:
        raise RecordingError(
            f"{directory} was written by a newer whylate (schema {plan.schema_version}): update it"
        )
    return plan, read_lines(directory / JOURNAL, Done)[0]


class StudyJournal:
    """A study that goes on: keeps the directory for this process. Its methods are for any thread.

    Raises RequestError for a directory that holds something else, or a study of another plan, and
    DiskError where it cannot be written.
    """

    def __init__(self, directory: Path, plan: StudyPlan) -> None:
        self.directory = directory
        self._lock = threading.Lock()
        try:
            new = not (directory / PLAN).exists()
            if new and directory.exists() and any(directory.iterdir()):
                raise RequestError(
                    f"{directory} exists and is no study: choose another name with -o"
                )
            (directory / RUNS).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError(f"{directory} cannot be written: {error.strerror}") from None
        try:
            self._lines = LineWriter(directory / JOURNAL)
        except BlockingIOError:
            raise RequestError(
                f"{directory} is the study of another whylate that still runs"
            ) from None
        try:
            if not new:
                _must_be_same(directory, plan)
            write_plan(directory / PLAN, plan)
            self.done, good = read_lines(directory / JOURNAL, Done)
            self._lines.cut(good)
        except BaseException:
            self._lines.close()
            raise

    def __enter__(self) -> StudyJournal:
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

    def append(self, done: Done) -> None:
        """Write a run's line; raises DiskError."""
        with self._lock:
            self._lines.append(done)
            self.done = [*self.done, done]


def made(done: list[Done]) -> set[Place]:
    """Return the runs that there are recordings of."""
    return {Place(one.board, one.load, one.variant, one.round) for one in done if not one.failed}


def place_of(place: Place) -> str:
    """Return where a run's recording goes, below the study's directory."""
    parts = (plain_part(part) for part in (place.board, place.load, place.variant))
    return "/".join((RUNS, *parts, f"{place.round:04d}"))


def plain_part(name: str) -> str:
    """Return a name as a part of a path."""
    return re.sub(r"[^A-Za-z0-9._@+-]+", "-", name.removeprefix("ssh://"))[:80].strip(".") or "-"


def _must_be_same(directory: Path, plan: StudyPlan) -> None:
    held = msgspec.structs.asdict(read_study(directory)[0])
    wanted = msgspec.structs.asdict(plan)
    for name, value in wanted.items():
        if name not in _MAY_CHANGE and held[name] != value:
            raise RequestError(
                f"{directory} is a study with another {name.removesuffix('_ns')}: give the same "
                "plan again to go on with it, or choose another name with -o"
            )
