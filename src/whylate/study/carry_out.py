"""Carry out a study: each board makes its runs in sequence, until all is decided."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from whylate.run.errors import RequestError
from whylate.run.knobs.apply import apply_knobs
from whylate.run.progress import Observer
from whylate.run.several import Job
from whylate.run.threads import wait_for_threads
from whylate.study.attempt import Attempts, Open, why_not
from whylate.study.check import check_knobs
from whylate.study.journal import StudyJournal, recorded_runs, recording_path
from whylate.study.model import FinishedRun, PlannedRun, StudyPlan
from whylate.study.order import remaining_runs
from whylate.study.results.evidence import Evidence, Key, Standing

#: Attempts at a run before its board is given up until the study is resumed.
ATTEMPTS = 3
#: Between attempts, s, so that a board or a network that is being switched comes back.
PAUSE_S = 5.0


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
    wait_for_threads(threads)
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
        self._observer = observer
        self._stopped = stopped
        check_knobs(plan)
        self._variants = {
            variant.name: apply_knobs(plan.request, variant.knobs, plan.knobs)
            for variant in plan.variants
        }
        self._attempts = Attempts(journal.directory, plan, open_board, stopped)
        self._evidence = Evidence(journal.directory, plan)
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self.result = Result()
        self.errors: list[BaseException] = []
        #: Why boards were not left as they were found, as far as it was shown.
        self._not_left: set[str] = set()

    def on_board(self, board: str) -> None:
        """Make the runs of a board, and leave it with all knobs restored."""
        try:
            # A host that was killed may have left knobs to restore.
            reason = self._put_back(board)
            reason = reason or self._make_runs(board)
            reason = self._put_back(board, over=True) or reason
            reason = self._leave_card(board, over=not reason) or reason
            if reason:
                self.result.lost[board] = reason
        except RequestError as error:
            not_restored = self._put_back(board, over=True)
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
                applied = self._variants[run.variant]
                self._attempts.warm_up(run, applied, self._observer.observer(board))
                warm = True
            self._observer.run_begins(run)
            reason = self._make(run)
            if reason:
                return reason
        return ""

    def _put_back(self, board: str, *, over: bool = False) -> str:
        return self._attempts.put_back(board, self._observer.log, over=over)

    def _leave_card(self, board: str, *, over: bool) -> str:
        over = over and not (self.result.stopped or self._must_stop())
        return self._attempts.leave_card(board, self._observer.log, over=over)

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

    def _make(self, run: PlannedRun) -> str:
        """Make a run; return why its board is given up, or ""."""
        job = self._attempts.job(
            run,
            self._variants[run.variant],
            self._journal.directory / recording_path(run),
            self._observer.observer(run.board),
        )
        reason = ""
        for number in range(ATTEMPTS):
            if number:
                time.sleep(PAUSE_S)
            if self._must_stop():
                return ""
            reason = self._put_back(run.board)
            if reason:
                continue
            reason = self._attempt(job, run)
            if not reason:
                return ""
        return reason

    def _attempt(self, job: Job, run: PlannedRun) -> str:
        """Make a run once; return why it failed, or ""."""
        started, began = datetime.now(UTC), time.monotonic()
        try:
            outcome = self._attempts.make(job)
            applied = self._variants[run.variant]
            reason = why_not(outcome, applied, list(self._variants.values()))
        except RequestError as error:
            raise RequestError(f"variant {run.variant} on {run.board}: {error}") from None
        if outcome.recorded and outcome.error is not None:
            text = str(outcome.error)
            named = text.startswith(run.board)
            self._show_not_left(text if named else f"{run.board}: {text}")
        if reason and self._stopped():
            return ""  # the user ended the study; the run is made when it is resumed
        self._journal.append(
            FinishedRun(
                board=run.board,
                load=run.load,
                variant=run.variant,
                round=run.round,
                recording=self._attempts.keep_failed(job) if reason else recording_path(run),
                started=started.isoformat(timespec="milliseconds"),
                took_s=round(time.monotonic() - began, 3),
                failed=reason[:400],
            )
        )
        return reason

    def _show_not_left(self, text: str) -> None:
        """Show once that a board was not left as it was found, as where its relay sticks."""
        if text not in self._not_left:
            self._not_left.add(text)
            self._observer.log(text)
