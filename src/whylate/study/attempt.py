"""Attempts at a run of a plan: with its knobs on a board, and why it does not count."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from whylate.boards.board import Board, Notify
from whylate.probe.errors import ProbeRefusedError
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied
from whylate.run.knobs.variables import with_variables
from whylate.run.progress import Observer
from whylate.run.several import Job, Outcome, carry_out
from whylate.study.check import opened_name
from whylate.study.knobs_in_effect import missing_knob
from whylate.study.model import PlannedRun, StudyPlan
from whylate.study.order import dithered
from whylate.study.restore.boots import Boots
from whylate.study.restore.cards import Cards
from whylate.study.restore.undo import Undo
from whylate.text import path_part

#: Recordings of boards that warm up, below the directory of the plan.
WARM_UP = "warm-up"

#: What runs that failed have left, below the directory of the plan, and of how many of a board.
FAILED, MOST_FAILED = "failed", 10

#: Opens a board with these kernel arguments.
Open = Callable[[str, tuple[str, ...]], Board]


class Attempts:
    """Makes runs of a plan in its directory, and puts back what they have set."""

    def __init__(
        self, directory: Path, plan: StudyPlan, open_board: Open, stopped: Callable[[], bool]
    ) -> None:
        self._directory = directory
        self._plan = plan
        self._open = open_board
        self._stopped = stopped
        self._undo = Undo(directory)
        self._cards = Cards(directory, plan)
        self._boots = Boots(directory, plan)

    def put_back(self, board: str, notify: Notify, *, over: bool = False) -> str:
        """Put back what a run left on a board; return why that failed, or "".

        over: no run follows.
        """
        reason = self._undo.put_back(board, self._open_plain, notify)
        return self._boots.put_back(board, self._open_plain, notify, over=over) or reason

    def leave_card(self, board: str, notify: Notify, *, over: bool) -> str:
        """Leave a board's card as its plan has it; return why that failed, or ""."""
        return self._cards.leave(board, self._open_plain, notify, over)

    def know_file(self, path: str, sha256: str) -> None:
        """Take the hash of a file of this machine that the plan does not name."""
        self._cards.know(path, sha256)
        self._boots.know(path, sha256)

    def job(self, run: PlannedRun, applied: Applied, directory: Path, observer: Observer) -> Job:
        """Return the job of a run with these knobs."""
        return Job(
            run.board,
            lambda: self._cards.opened(
                run.board,
                self._open(opened_name(run.board, applied), applied.kernel_args),
                applied.image,
            ),
            _run_plan(self._plan, applied, run),
            directory,
            observer,
            self._boots.boot(run.board, applied, self._cards.boot(run.board, applied.image)),
            partial(self._undo.around, run.board, applied.commands),
        )

    def warm_up(self, run: PlannedRun, applied: Applied, observer: Observer) -> None:
        """Warm a board up as in its first run, without a recording; that run reports its errors."""
        directory = self._directory / WARM_UP / path_part(run.board)
        clear(directory)
        job = self.job(run, applied, directory, observer)
        shorter = _shorten(job.plan, self._plan.warm_up_ns)
        carry_out(replace(job, plan=shorter), self._stopped)
        shutil.rmtree(directory, ignore_errors=True)

    def make(self, job: Job) -> Outcome:
        """Make a run; raises DiskError, and RequestError for what no attempt can do."""
        # An attempt that failed, or a host that was killed, may have left something.
        clear(job.directory)
        outcome = carry_out(job, self._stopped)
        if isinstance(outcome.error, DiskError):
            raise outcome.error
        if isinstance(outcome.error, RequestError | ProbeRefusedError):
            raise RequestError(str(outcome.error))
        return outcome

    def keep_failed(self, job: Job) -> str:
        """Keep what a run that failed has left; return where, below the plan's directory, or ""."""
        board = path_part(job.name)
        for number in range(1, MOST_FAILED + 1):
            kept = self._directory / FAILED / f"{board}-{number:02d}"
            if kept.exists():
                continue
            with contextlib.suppress(OSError):
                kept.parent.mkdir(parents=True, exist_ok=True)
                job.directory.rename(kept)
                return f"{FAILED}/{kept.name}"
            break
        return ""

    def _open_plain(self, name: str) -> Board:
        return self._open(name, ())


def why_not(outcome: Outcome, applied: Applied, variants: Sequence[Applied]) -> str:
    """Return why a run does not count, or "".

    variants: all of the plan. Raises RequestError for a knob that was not in effect.
    """
    if not outcome.recorded:
        return str(outcome.error) or "it left no recording"
    try:
        manifest = open_recording(outcome.job.directory).manifest
    except RecordingError as unreadable:
        return str(unreadable)
    if manifest.state != "complete":
        why = next((f": {problem.text}" for problem in manifest.problems if problem.fatal), "")
        return f"the run was {manifest.state}{why}"
    # First: a run that began late is made again, and would lack the knob again.
    missing = missing_knob(applied, manifest, variants)
    if missing is not None:
        raise RequestError(missing)
    return manifest.late_start


def clear(directory: Path) -> None:
    """Remove a directory, and make the one that it is in; raises DiskError."""
    shutil.rmtree(directory, ignore_errors=True)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DiskError(f"{directory.parent} cannot be made: {error.strerror}") from None


def _shorten(plan: RunPlan, warm_up_ns: int) -> RunPlan:
    """Return the run with which a board warms up: for that time, or for one round."""
    changes: dict[str, object] = {"duration_ns": warm_up_ns, "recorder": None}
    if plan.benchmark is not None:
        changes = {"rounds": 1}
    return msgspec.structs.replace(plan, workload=msgspec.structs.replace(plan.workload, **changes))


def _run_plan(study: StudyPlan, applied: Applied, run: PlannedRun) -> RunPlan:
    loads = next(load_set.loads for load_set in study.loads if load_set.name == run.load)
    plan = msgspec.structs.replace(applied.plan, loads=[*loads, *applied.plan.loads])
    plan = with_variables(plan, applied.variables)
    return dithered(plan, study, run) if study.virtual_time else plan
