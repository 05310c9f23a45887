"""Carry out a bisection: run what the search asks for, until it has an answer."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

import numpy as np

from whylate.bisect.outcome import NoOutcomeError, outcome_of
from whylate.bisect.settings.hybrid import chosen_names, history_of, knobs_of, problem_of
from whylate.bisect.settings.journal import BisectJournal, recording_path
from whylate.bisect.settings.model import BisectPlan, MadeRun
from whylate.recording.errors import RecordingError
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied, apply_knobs
from whylate.run.progress import Observer
from whylate.run.several import Job
from whylate.stats.search.machine import advance
from whylate.stats.search.model import Answer, Hybrid, Purpose
from whylate.study.attempt import Attempts, Open, why_not
from whylate.study.carry_out import ATTEMPTS, PAUSE_S
from whylate.study.check import check_knobs
from whylate.study.model import PlannedRun

#: Attempts at a hybrid: one that fails each time is untestable. A variant has as many as a study.
_HYBRID_ATTEMPTS = 2
#: So many hybrids in sequence that failed on a board may mean that the board is broken.
_MOST_FAILED = 3


class BisectObserver(Protocol):
    """Shows a bisection to the user."""

    def observer(self, board: str) -> Observer:
        """Return the observer of the runs of a board."""

    def run_begins(self, number: int, board: str, hybrid: Hybrid) -> None:
        """Show that a made begins."""

    def run_ends(self, made: MadeRun) -> None:
        """Show the value of a made, or why it has none."""

    def log(self, text: str) -> None:
        """Show a text that stays visible."""


@dataclass
class Result:
    """How a bisection ended. answer: None: it is not over.

    lost: boards that were given up, with the reason.
    """

    answer: Answer | None = None
    lost: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Outcome:
    """What an attempt at a run gave. value: None: nothing, for that reason; is_final: for good."""

    value: float | None
    unit: str = "ns"
    reason: str = ""
    is_final: bool = False


class LostBoardError(Exception):
    """A board on which nothing runs any more; says why."""


def bisect_settings(
    journal: BisectJournal,
    plan: BisectPlan,
    open_board: Open,
    observer: BisectObserver,
    stopped: Callable[[], bool],
) -> Result:
    """Make runs until the search has an answer, or stopped() returns true.

    Raises RequestError for a knob of a variant that is unknown or has no effect, RecordingError,
    and DiskError. The boards are left with all knobs restored.
    """
    return _Bisection(journal, plan, open_board, observer, stopped).carry_out()


class _Bisection:
    """A bisection in progress."""

    def __init__(
        self,
        journal: BisectJournal,
        plan: BisectPlan,
        open_board: Open,
        observer: BisectObserver,
        stopped: Callable[[], bool],
    ) -> None:
        self._journal = journal
        self._plan = plan
        self._observer = observer
        self._stopped = stopped
        check_knobs(plan.study)
        self._problem = problem_of(plan)
        self._ends = [self._apply(variant.knobs) for variant in plan.study.variants]
        self._attempts = Attempts(journal.directory, plan.study, open_board, stopped)
        self._began = time.monotonic()
        self._warm: set[str] = set()
        self._lock = threading.Lock()
        self._number = max((made.number for made in journal.lines), default=0)
        self.result = Result()

    def carry_out(self) -> Result:
        """Ask the search, make the runs that it wants side by side, and ask again."""
        try:
            for board in self._plan.study.boards:
                # A host that was killed may have left knobs to restore.
                with contextlib.suppress(LostBoardError):
                    self._put_back(board)
            while self._boards() and not self._must_stop():
                step = advance(self._problem, history_of(self._plan, self._journal.lines))
                if not isinstance(step, tuple):
                    self.result.answer = step
                    break
                self._make(step)
        finally:
            for board in self._plan.study.boards:
                reason = self._attempts.put_back(board, self._observer.log, over=True)
                if reason:
                    self.result.lost.setdefault(board, reason)
        return self.result

    def _boards(self) -> list[int]:
        """Return the boards that were not given up, by their places in the plan."""
        boards = enumerate(self._plan.study.boards)
        return [place for place, board in boards if board not in self.result.lost]

    def _must_stop(self) -> bool:
        budget_ns = self._plan.study.budget_ns
        spent = budget_ns is not None and (time.monotonic() - self._began) * 1e9 > budget_ns
        return spent or self._stopped()

    def _put_back(self, board: str) -> None:
        reason = self._attempts.put_back(board, self._observer.log)
        if reason:
            self._lose(board, reason)

    def _lose(self, board: str, reason: str) -> None:
        self.result.lost[board] = reason
        raise LostBoardError(reason)

    def _make(self, step: Sequence[Hybrid]) -> None:
        """Make runs, those of one board in sequence, and keep each as soon as it is over.

        What a lost board was to run the others do; what it has not run the search asks for again.
        """
        boards = self._boards()
        by_board: dict[int, list[Hybrid]] = {}
        for hybrid in step:
            board = hybrid.board if hybrid.board in boards else boards[hybrid.board % len(boards)]
            by_board.setdefault(board, []).append(replace(hybrid, board=board))
        errors: list[BaseException] = []

        def make(hybrids: Sequence[Hybrid]) -> None:
            try:
                for hybrid in hybrids:
                    if errors or self._must_stop():
                        return
                    self._make_run(hybrid)
            except LostBoardError:
                return
            except BaseException as error:  # it is raised below
                errors.append(error)

        threads = [threading.Thread(target=make, args=(hybrids,)) for hybrids in by_board.values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def _apply(self, knobs: dict[str, str]) -> Applied:
        return apply_knobs(self._plan.study.request, knobs, self._plan.study.knobs)

    def _make_run(self, hybrid: Hybrid) -> None:
        """Make a run until it counts; a hybrid that never does is untestable."""
        with self._lock:
            self._number += 1
            number = self._number
        board = self._plan.study.boards[hybrid.board]
        load = self._plan.study.loads[0].name
        run = PlannedRun(board, load, f"run-{number}", number)
        applied = self._apply(knobs_of(self._plan, hybrid.in_force))
        observer = self._observer.observer(board)
        if self._plan.study.warm_up_ns and board not in self._warm:
            self._attempts.warm_up(run, applied, observer)
        self._warm.add(board)
        self._observer.run_begins(number, board, hybrid)
        started, began = datetime.now(UTC), time.monotonic()
        directory = self._journal.directory / recording_path(number)
        is_end = hybrid.purpose is Purpose.END
        outcome = _Outcome(None)
        for attempt in range(ATTEMPTS if is_end else _HYBRID_ATTEMPTS):
            if attempt:
                time.sleep(PAUSE_S)
            job = self._attempts.job(run, applied, directory, observer)
            outcome = self._attempt(applied, job, is_end=is_end)
            if self._stopped():
                return  # the run is made again when the bisection is resumed
            self._put_back(board)
            if outcome.value is not None or outcome.is_final:
                break
        if outcome.value is None and is_end:
            self._lose(board, f"a run of {self._end_name(hybrid)} failed: {outcome.reason}")
        made = MadeRun(
            number=number,
            board=board,
            planned=chosen_names(self._plan, hybrid.in_force),
            in_force=chosen_names(self._plan, hybrid.in_force),
            base="second" if hybrid.fast_base else "first",
            purpose=hybrid.purpose.value,
            target=list(hybrid.target),
            opened=list(hybrid.opened),
            value=outcome.value,
            unit=outcome.unit,
            untestable=outcome.reason[:400],
            recording=recording_path(number) if outcome.value is not None else "",
            started=started.isoformat(timespec="milliseconds"),
            took_s=round(time.monotonic() - began, 3),
        )
        self._journal.append(made)
        self._observer.run_ends(made)
        self._check_board(board)

    def _attempt(self, applied: Applied, job: Job, *, is_end: bool) -> _Outcome:
        """Make a run once; raises RequestError where a variant itself cannot be run."""
        try:
            done = self._attempts.make(job)
            reason = why_not(done, applied, self._ends)
        except RequestError as error:
            if is_end:
                raise
            # Another attempt would be refused as well.
            return _Outcome(None, reason=str(error), is_final=True)
        if reason:
            return _Outcome(None, reason=reason)
        try:
            return _Outcome(*outcome_of(done.job.directory, self._plan.statistic))
        except (NoOutcomeError, RecordingError) as error:
            return _Outcome(None, reason=str(error))

    def _check_board(self, board: str) -> None:
        """Run a variant where hybrids fail in sequence: if it fails as well, the board does."""
        lines = [made for made in self._journal.lines if made.board == board][-_MOST_FAILED:]
        if len(lines) < _MOST_FAILED or any(made.value is not None for made in lines):
            return
        number = self._plan.study.boards.index(board)
        in_force = np.zeros(self._problem.items, bool)
        self._make_run(Hybrid(in_force, fast_base=False, board=number, purpose=Purpose.END))

    def _end_name(self, hybrid: Hybrid) -> str:
        return (self._plan.second if hybrid.fast_base else self._plan.first).name
