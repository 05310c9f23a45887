"""Carry out a study: each board makes its runs in sequence, until all is decided."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol

import msgspec

from whylate.boards.board import Board
from whylate.probe.client import ProbeRefusedError
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied, apply_knobs
from whylate.run.knobs.variables import with_variables
from whylate.run.progress import Observer
from whylate.run.several import Job, Outcome, carry_out
from whylate.study.check import check_knobs, opened_name
from whylate.study.journal import StudyJournal, recorded_runs, recording_path
from whylate.study.knobs_in_effect import missing_knob
from whylate.study.model import FinishedRun, PlannedRun, StudyPlan
from whylate.study.order import dithered, remaining_runs
from whylate.study.restore.cards import Cards
from whylate.study.restore.undo import Undo
from whylate.study.results.evidence import Evidence, Key, Standing
from whylate.text import path_part

#: Attempts at a run before its board is given up until the study is resumed.
_ATTEMPTS = 3
#: Between attempts, s, so that a board or a network that is being switched comes back.
_PAUSE_S = 5.0
#: Problems of a run that began wrong: it counts as failed.
_NOT_BEGUN = {"late-start"}
#: Recordings of boards that warm up, below the study's directory.
WARM_UP = "warm-up"

#: Opens a board with these kernel arguments.
Open = Callable[[str, tuple[str, ...]], Board]


class StudyObserver(Protocol):
    """Shows a study to the user."""

    def observer(self, board: str) -> Observer:
        """Return the observer of the runs of a board."""

    def run_begins(self, run: PlannedRun) -> None:
        """Show that a run begins."""

    def log(self, text: str) -> None:
        """Show a text that stays visible."""

    def show_standings(self, standings: Mapping[Key, Standing]) -> None:
        """Show the state of all comparisons."""


@dataclass
class Result:
    """The result of a study. lost: boards that were given up, with the reason."""

    standings: dict[Key, Standing] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    stopped: bool = False


def run_study(
    journal: StudyJournal,
    plan: StudyPlan,
    open_board: Open,
    observer: StudyObserver,
    stopped: Callable[[], bool],
) -> Result:
    """Make the remaining runs until every comparison is over, or stopped() returns true.

    Raises RequestError for a knob that is unknown or has no effect, and DiskError. Other errors of
    a board end its part alone, and are in the result.
    """
    study = _Study(journal, plan, open_board, observer, stopped)
    threads = [threading.Thread(target=study.on_board, args=(board,)) for board in plan.boards]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if study.errors:
        raise study.errors[0]
    return study.result


class _Study:
    """A study in progress: what the threads of its boards share."""

    def __init__(
        self,
        journal: StudyJournal,
        plan: StudyPlan,
        open_board: Open,
        observer: StudyObserver,
        stopped: Callable[[], bool],
    ) -> None:
        self._journal = journal
        self._plan = plan
        self._open = open_board
        self._observer = observer
        self._stopped = stopped
        check_knobs(plan)
        self._variants = {
            variant.name: apply_knobs(plan.request, variant.knobs, plan.knobs)
            for variant in plan.variants
        }
        self._undo = Undo(journal.directory)
        self._cards = Cards(journal.directory, plan)
        self._evidence = Evidence(journal.directory, plan)
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self.result = Result()
        self.errors: list[BaseException] = []

    def on_board(self, board: str) -> None:
        """Make the runs of a board, and leave it with all knobs restored."""
        try:
            # A host that was killed may have left knobs to restore.
            reason = self._put_back(board)
            reason = reason or self._make_runs(board)
            reason = reason or self._put_back(board)
            reason = self._leave_card(board, over=not reason) or reason
            if reason:
                self.result.lost[board] = reason
        except RequestError as error:
            not_restored = self._put_back(board)
            self._leave_card(board, over=False)
            self.errors.append(RequestError(f"{error}; {not_restored}") if not_restored else error)
        except BaseException as error:  # run_study() raises it
            self.errors.append(error)

    def _make_runs(self, board: str) -> str:
        """Make the runs that the evidence asks for; return why the board is given up, or ""."""
        warm = not self._plan.warm_up_ns
        while (run := self._next(board)) is not None:
            if self._must_stop():
                self.result.stopped = True
                return ""
            if not warm:
                self._warm_up(run)
                warm = True
            self._observer.run_begins(run)
            reason = self._make(run)
            if reason:
                return reason
        return ""

    def _open_plain(self, name: str) -> Board:
        return self._open(name, ())

    def _put_back(self, board: str) -> str:
        return self._undo.put_back(board, self._open_plain, self._observer.log)

    def _leave_card(self, board: str, *, over: bool) -> str:
        over = over and not (self.result.stopped or self._must_stop())
        return self._cards.leave(board, self._open_plain, self._observer.log, over)

    def _must_stop(self) -> bool:
        budget_ns = self._plan.budget_ns
        spent = budget_ns is not None and (time.monotonic() - self._began) * 1e9 > budget_ns
        # An error of one board ends the study on all.
        return spent or bool(self.errors) or self._stopped()

    def _next(self, board: str) -> PlannedRun | None:
        with self._lock:
            for key in self._evidence.keys(board):
                self.result.standings[key] = self._evidence.standing(key, self._journal.done)
            self._observer.show_standings(dict(self.result.standings))
            decided = {
                (key.load, key.variant)
                for key, standing in self.result.standings.items()
                if key.board == board and standing.over
            }
            recorded = recorded_runs(self._journal.done)
        return next(remaining_runs(self._plan, board, recorded, decided), None)

    def _job(self, run: PlannedRun, directory: Path) -> Job:
        applied = self._variants[run.variant]
        return Job(
            run.board,
            lambda: self._open(opened_name(run.board, applied), applied.kernel_args),
            _run_plan(self._plan, applied, run),
            directory,
            self._observer.observer(run.board),
            self._cards.boot(run.board, applied.image),
            partial(self._undo.around, run.board, applied.commands),
        )

    def _warm_up(self, run: PlannedRun) -> None:
        """Warm a board up as in its first run, without a recording; that run reports its errors."""
        directory = self._journal.directory / WARM_UP / path_part(run.board)
        _clear(directory)
        job = self._job(run, directory)
        shorter = _shorten(job.plan, self._plan.warm_up_ns)
        carry_out(replace(job, plan=shorter), self._stopped)
        shutil.rmtree(directory, ignore_errors=True)

    def _make(self, run: PlannedRun) -> str:
        """Make a run; return why its board is given up, or ""."""
        directory = self._journal.directory / recording_path(run)
        job = self._job(run, directory)
        reason = ""
        for number in range(_ATTEMPTS):
            if number:
                time.sleep(_PAUSE_S)
            if self._must_stop():
                return ""
            reason = self._put_back(run.board)
            if reason:
                continue
            # An attempt that failed, or a host that was killed, may have left something.
            _clear(directory)
            reason = self._attempt(job, run)
            if not reason:
                return ""
        return reason

    def _attempt(self, job: Job, run: PlannedRun) -> str:
        """Make a run once; return why it failed, or ""."""
        started, began = datetime.now(UTC), time.monotonic()
        outcome = carry_out(job, self._stopped)
        if isinstance(outcome.error, DiskError):
            raise outcome.error
        if isinstance(outcome.error, RequestError | ProbeRefusedError):
            raise _refused(run, str(outcome.error))
        reason = self._failure(outcome, run)
        if reason and self._stopped():
            return ""  # the user ended the study; the run is made when it is resumed
        self._journal.append(
            FinishedRun(
                board=run.board,
                load=run.load,
                variant=run.variant,
                round=run.round,
                recording="" if reason else recording_path(run),
                started=started.isoformat(timespec="milliseconds"),
                took_s=round(time.monotonic() - began, 3),
                failed=reason[:400],
            )
        )
        return reason

    def _failure(self, outcome: Outcome, run: PlannedRun) -> str:
        """Return why a run does not count, or ""."""
        if not outcome.recorded:
            return str(outcome.error) or "it left no recording"
        try:
            manifest = open_recording(outcome.job.directory).manifest
        except RecordingError as unreadable:
            return str(unreadable)
        if manifest.state != "complete":
            return f"the run was {manifest.state}"
        for problem in manifest.problems:
            if problem.code in _NOT_BEGUN:
                return problem.text
        applied = self._variants[run.variant]
        missing = missing_knob(applied, manifest, list(self._variants.values()))
        if missing is not None:
            raise _refused(run, missing)
        return ""


def _clear(directory: Path) -> None:
    """Remove a directory, and make the one that it is in."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.parent.mkdir(parents=True, exist_ok=True)


def _refused(run: PlannedRun, reason: str) -> RequestError:
    return RequestError(f"variant {run.variant} on {run.board}: {reason}")


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
