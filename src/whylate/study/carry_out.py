"""Carrying a study out: each board makes its runs one after the other, until it is decided."""

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
from whylate.recording.path_part import path_part
from whylate.recording.plan import RunPlan
from whylate.recording.reader import open_recording
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied, apply_knobs
from whylate.run.knobs.variables import with_variables
from whylate.run.progress import Observer
from whylate.run.several import Job, Outcome, carry_out
from whylate.study.check import check_knobs, opened_name
from whylate.study.dither import dithered
from whylate.study.journal import StudyJournal, made, recording_path
from whylate.study.knobs_in_effect import missing_knob
from whylate.study.model import FinishedRun, PlannedRun, StudyPlan
from whylate.study.order import left
from whylate.study.restore.cards import Cards
from whylate.study.restore.undo import Undo
from whylate.study.results.evidence import Evidence, Key, Standing
from whylate.study.workload import request

#: A run is tried so often in a row before its board is given up for this time.
_TRIES = 3
#: Between tries, s: a board that is being switched, or a network, comes back meanwhile.
_PAUSE_S = 5.0
#: Problems of a run that never began as it should: they say nothing of what it was to show.
_NOT_BEGUN = {"late-start"}
#: Below the study's directory, for as long as a board warms up.
WARM_UP = "warm-up"

#: Opens a board with these words on its kernel's command line.
Open = Callable[[str, tuple[str, ...]], Board]


class StudyObserver(Protocol):
    """Whoever shows a study while it goes."""

    def observer(self, board: str) -> Observer:
        """Return who is told of the runs of a board."""

    def run_begins(self, place: PlannedRun) -> None:
        """Say which run begins."""

    def log(self, text: str) -> None:
        """Say something that stays in sight."""

    def show_standings(self, standings: Mapping[Key, Standing]) -> None:
        """Say how all comparisons stand."""


@dataclass
class Result:
    """What became of a study. lost: boards that were given up, and why."""

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
    """Make the runs that are left until every comparison is over, or stopped() says so.

    Raises RequestError for a knob that there is not, or that does not take effect, and DiskError.
    What else goes wrong with a board ends its part alone, and is told in the result.
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
    """A study that goes on: what its boards' threads share."""

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
        self._watcher = observer
        self._stopped = stopped
        check_knobs(plan)
        self._variants = {
            one.name: apply_knobs(request(plan), one.knobs, plan.knobs) for one in plan.variants
        }
        self._undo = Undo(journal.directory)
        self._cards = Cards(journal.directory, plan)
        self._evidence = Evidence(journal.directory, plan)
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self.result = Result()
        self.errors: list[BaseException] = []

    def on_board(self, board: str) -> None:
        """Make the runs of a board, and leave it with all knobs as they were."""
        try:
            # Whoever made the last run may have been killed before a knob was put back.
            why = self._put_back(board)
            why = why or self._runs_of(board)
            why = why or self._put_back(board)
            why = self._leave_card(board, over=not why) or why
            if why:
                self.result.lost[board] = why
        except RequestError as error:
            left = self._put_back(board)
            self._leave_card(board, over=False)
            self.errors.append(RequestError(f"{error}; {left}") if left else error)
        except BaseException as error:  # told by the thread that waits for this one
            self.errors.append(error)

    def _runs_of(self, board: str) -> str:
        """Make the runs of a board where the evidence asks for them; return why it is given up."""
        warm = not self._plan.warm_up_ns
        while (place := self._next(board)) is not None:
            if self._over():
                self.result.stopped = True
                return ""
            if not warm:
                self._warm_up(place)
                warm = True
            self._watcher.run_begins(place)
            why = self._make(place)
            if why:
                return why
        return ""

    def _put_back(self, board: str) -> str:
        return self._undo.put_back(board, lambda name: self._open(name, ()), self._watcher.log)

    def _leave_card(self, board: str, *, over: bool) -> str:
        over = over and not (self.result.stopped or self._over())
        return self._cards.leave(board, lambda name: self._open(name, ()), self._watcher.log, over)

    def _over(self) -> bool:
        budget_ns = self._plan.budget_ns
        late = budget_ns is not None and (time.monotonic() - self._began) * 1e9 > budget_ns
        # One board's defect is all boards' end.
        return late or bool(self.errors) or self._stopped()

    def _next(self, board: str) -> PlannedRun | None:
        with self._lock:
            for key in self._evidence.keys(board):
                self.result.standings[key] = self._evidence.standing(key, self._journal.done)
            self._watcher.show_standings(dict(self.result.standings))
            decided = {
                (key.load, key.variant)
                for key, one in self.result.standings.items()
                if key.board == board and one.over
            }
        return next(left(self._plan, board, made(self._journal.done), decided), None)

    def _job(self, place: PlannedRun, directory: Path) -> Job:
        applied = self._variants[place.variant]
        return Job(
            place.board,
            lambda: self._open(opened_name(place.board, applied), applied.kernel_args),
            _of_load(self._plan, applied, place),
            directory,
            self._watcher.observer(place.board),
            self._cards.boot(place.board, applied.image),
            partial(self._undo.around, place.board, applied.commands),
        )

    def _warm_up(self, place: PlannedRun) -> None:
        """Let a board run as in its first run, and keep nothing: what goes wrong that run tells."""
        directory = self._journal.directory / WARM_UP / path_part(place.board)
        shutil.rmtree(directory, ignore_errors=True)
        directory.parent.mkdir(parents=True, exist_ok=True)
        job = self._job(place, directory)
        shorter = _shorter(job.plan, self._plan.warm_up_ns)
        carry_out(replace(job, plan=shorter), self._stopped)
        shutil.rmtree(directory, ignore_errors=True)

    def _make(self, place: PlannedRun) -> str:
        """Make a run; return why its board is given up, "" where it is not."""
        directory = self._journal.directory / recording_path(place)
        job = self._job(place, directory)
        why = ""
        for number in range(_TRIES):
            if number:
                time.sleep(_PAUSE_S)
            if self._over():
                return ""
            why = self._put_back(place.board)
            if why:
                continue
            # What a try, or a host that died, left there is no run.
            shutil.rmtree(directory, ignore_errors=True)
            directory.parent.mkdir(parents=True, exist_ok=True)
            why = self._try(job, place)
            if not why:
                return ""
        return why

    def _try(self, job: Job, place: PlannedRun) -> str:
        """Make a run once; return why it failed, or an empty text."""
        started, began = datetime.now(UTC), time.monotonic()
        outcome = carry_out(job, self._stopped)
        if isinstance(outcome.error, DiskError):
            raise outcome.error
        if isinstance(outcome.error, RequestError | ProbeRefusedError):
            raise _refused(place, str(outcome.error))
        why = self._failed(outcome, place)
        if why and self._stopped():
            return ""  # ended by the user: it is made again another time
        self._journal.append(
            FinishedRun(
                board=place.board,
                load=place.load,
                variant=place.variant,
                round=place.round,
                recording="" if why else recording_path(place),
                started=started.isoformat(timespec="milliseconds"),
                took_s=round(time.monotonic() - began, 3),
                failed=why[:400],
            )
        )
        return why

    def _failed(self, outcome: Outcome, place: PlannedRun) -> str:
        """Return why a run is none that counts; "" where it is one."""
        if not outcome.recorded:
            return str(outcome.error) or "it left no recording"
        try:
            manifest = open_recording(outcome.job.directory).manifest
        except RecordingError as unreadable:
            return str(unreadable)
        if manifest.state != "complete":
            return f"the run was {manifest.state}"
        badly_begun = [one.text for one in manifest.problems if one.code in _NOT_BEGUN]
        if badly_begun:
            return badly_begun[0]
        applied = self._variants[place.variant]
        without = missing_knob(applied, manifest, list(self._variants.values()))
        if without is not None:
            raise _refused(place, without)
        return ""


def _refused(place: PlannedRun, why: str) -> RequestError:
    return RequestError(f"variant {place.variant} on {place.board}: {why}")


def _shorter(plan: RunPlan, warm_up_ns: int) -> RunPlan:
    """Return the run as a board warms up with it: for that time, or for one round."""
    changes: dict[str, object] = {"duration_ns": warm_up_ns, "recorder": None}
    if plan.benchmark is not None:
        changes = {"rounds": 1}
    return msgspec.structs.replace(plan, workload=msgspec.structs.replace(plan.workload, **changes))


def _of_load(study: StudyPlan, applied: Applied, place: PlannedRun) -> RunPlan:
    loads = next(load_set.loads for load_set in study.loads if load_set.name == place.load)
    plan = msgspec.structs.replace(applied.plan, loads=[*loads, *applied.plan.loads])
    plan = with_variables(plan, applied.variables)
    return dithered(plan, study, place) if study.virtual_time else plan
