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
from whylate.bisect.sets.history import chosen_keys, history_of
from whylate.bisect.sets.journal import UNTESTABLE, P, SetsJournal, recording_path
from whylate.bisect.sets.model import MadeRun
from whylate.bisect.sets.provision import Provisioned, Provisioner
from whylate.boards.board import Board
from whylate.boards.errors import BoardBusyError, BoardError
from whylate.files import read_end, write_whole
from whylate.recording.errors import RecordingError
from whylate.run.errors import RequestError
from whylate.run.progress import Observer
from whylate.run.several import Job
from whylate.run.threads import wait_for_threads
from whylate.stats.arrays import Bools
from whylate.stats.search.machine import advance
from whylate.stats.search.model import Answer, Hybrid, Purpose
from whylate.stats.search.standing import Standing, standing_of
from whylate.study.attempt import Attempts, Open, why_not
from whylate.study.carry_out import ATTEMPTS, PAUSE_S
from whylate.study.model import PlannedRun

#: Attempts at a hybrid: one that fails each time is untestable. A variant has as many as a study.
_HYBRID_ATTEMPTS = 2
#: Bytes of a console's log that are kept.
_MOST_OF_A_LOG = 256 << 10
#: So many hybrids in sequence that failed on a board may mean that the board is broken.
_MOST_FAILED = 3


#: Differences that are shown while it goes.
LEADING = 4


class BisectObserver(Protocol):
    """Shows a bisection to the user."""

    def observer(self, board: str) -> Observer:
        """Return the observer of the runs of a board."""

    def run_begins(self, number: int, board: str, hybrid: Hybrid) -> None:
        """Show that a made begins."""

    def show_standing(self, standing: Standing) -> None:
        """Show what is probable so far."""

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
    """What an attempt at a run gave.

    value: None: nothing, for that reason; is_final: for good. is_busy: somebody else has the board.
    not_put_back: why the settings of the board were not put back after the run; "": they were.
    """

    value: float | None
    unit: str = "ns"
    reason: str = ""
    is_final: bool = False
    is_busy: bool = False
    in_force: Bools | None = None
    log: str = ""
    not_put_back: str = ""


class LostBoardError(Exception):
    """A board on which nothing runs any more; says why."""


def bisect_sets(
    journal: SetsJournal[P],
    provisioner: Provisioner,
    open_board: Open,
    observer: BisectObserver,
    stopped: Callable[[], bool],
) -> Result:
    """Make runs until the search has an answer, or stopped() returns true.

    Raises RequestError for what a side cannot be run with, RecordingError,
    and DiskError. The boards are left with all knobs restored.
    """
    return _Bisection(journal, provisioner, open_board, observer, stopped).carry_out()


class _Bisection:
    """A bisection in progress."""

    def __init__(
        self,
        journal: SetsJournal[P],
        provisioner: Provisioner,
        open_board: Open,
        observer: BisectObserver,
        stopped: Callable[[], bool],
    ) -> None:
        self._journal = journal
        self._provisioner = provisioner
        self._sets = provisioner.sets
        self._plan = provisioner.sets.plan
        self._observer = observer
        self._stopped = stopped
        self._problem = provisioner.problem
        self._attempts = Attempts(journal.directory, self._plan.study, open_board, stopped)
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
                step = advance(self._problem, history_of(self._sets, self._journal.lines))
                if not isinstance(step, tuple):
                    self.result.answer = step
                    break
                self._provisioner.prepare(step)
                history = history_of(self._sets, self._journal.lines)
                self._observer.show_standing(standing_of(self._problem, history, LEADING))
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
        wait_for_threads(threads)
        if errors:
            raise errors[0]

    def _make_run(self, hybrid: Hybrid) -> None:
        """Make a run until it counts; a hybrid that never does is untestable."""
        with self._lock:
            self._number += 1
            number = self._number
        board = self._plan.study.boards[hybrid.board]
        self._observer.run_begins(number, board, hybrid)
        started, began = datetime.now(UTC), time.monotonic()
        is_end = hybrid.purpose is Purpose.END
        try:
            with self._provisioner.provision(hybrid) as provisioned:
                outcome = self._attempt_all(provisioned, hybrid, number, board)
        except NoOutcomeError as error:
            outcome = _Outcome(None, reason=str(error), is_final=True)
        if self._stopped():
            return  # the run is made again when the bisection is resumed
        if outcome.is_busy:
            # It says nothing of the hybrid: another board runs it, or this one when it is free.
            self._lose(board, outcome.reason)
        if outcome.value is None and outcome.not_put_back:
            self._lose(board, outcome.not_put_back)
        if outcome.value is None and is_end:
            self._lose(board, f"a run of {self._end_name(hybrid)} failed: {outcome.reason}")
        in_force = hybrid.in_force if outcome.in_force is None else outcome.in_force
        made = MadeRun(
            number=number,
            board=board,
            planned=chosen_keys(self._sets, hybrid.in_force),
            in_force=chosen_keys(self._sets, in_force),
            base="second" if hybrid.fast_base else "first",
            purpose=hybrid.purpose.value,
            target=list(hybrid.target),
            opened=list(hybrid.opened),
            value=outcome.value,
            unit=outcome.unit,
            untestable=outcome.reason[:400],
            recording=recording_path(number) if outcome.value is not None else "",
            log=outcome.log,
            started=started.isoformat(timespec="milliseconds"),
            took_s=round(time.monotonic() - began, 3),
        )
        self._journal.append(made)
        self._observer.run_ends(made)
        if outcome.not_put_back:
            self._lose(board, outcome.not_put_back)
        self._check_board(board)

    def _attempt_all(
        self, provisioned: Provisioned, hybrid: Hybrid, number: int, board: str
    ) -> _Outcome:
        """Attempt a run until it counts, or may not be attempted any more."""
        is_end = hybrid.purpose is Purpose.END
        load = self._plan.study.loads[0].name
        run = PlannedRun(board, load, f"run-{number}", number)
        applied, observer = provisioned.applied, self._observer.observer(board)
        if provisioned.sha256:
            self._attempts.know_file(applied.image, provisioned.sha256)
        if self._plan.study.warm_up_ns and board not in self._warm:
            self._attempts.warm_up(run, applied, observer)
        self._warm.add(board)
        outcome = _Outcome(None)
        directory = self._journal.directory / recording_path(number)
        for attempt in range(ATTEMPTS if is_end else _HYBRID_ATTEMPTS):
            if attempt:
                time.sleep(PAUSE_S)
            job = self._attempts.job(run, applied, directory, observer)
            if provisioned.boot is not None:
                job = replace(job, boot=provisioned.boot)
            outcome = self._attempt(provisioned, job, number, is_end=is_end)
            if self._stopped():
                break
            # A run that counts is kept, also where this fails.
            reason = self._attempts.put_back(board, self._observer.log)
            outcome = replace(outcome, not_put_back=reason)
            if reason or outcome.value is not None or outcome.is_final:
                break
        return outcome

    def _attempt(
        self, provisioned: Provisioned, job: Job, number: int, *, is_end: bool
    ) -> _Outcome:
        """Make a run once; raises RequestError where a side itself cannot be run."""
        opened: list[Board] = []

        def open_board() -> Board:
            opened.append(job.open())
            return opened[-1]

        try:
            done = self._attempts.make(replace(job, open=open_board))
            if isinstance(done.error, BoardBusyError):
                return _Outcome(None, reason=str(done.error), is_busy=True)
            reason = why_not(done, provisioned.applied, self._provisioner.sides)
        except RequestError as error:
            if is_end:
                raise
            # Another attempt would be refused as well.
            return _Outcome(None, reason=str(error), is_final=True)
        if reason:
            log = self._keep_log(opened[-1], number) if opened else ""
            return _Outcome(None, reason=reason, log=log)
        try:
            in_force = provisioned.in_force(done.job.directory)
            value, unit = outcome_of(done.job.directory, self._plan.statistic)
            return _Outcome(value, unit, in_force=in_force)
        except (NoOutcomeError, RecordingError) as error:
            return _Outcome(None, reason=str(error))

    def _keep_log(self, board: Board, number: int) -> str:
        """Keep what the console of an untestable run printed last; return where, or ""."""
        name = f"{UNTESTABLE}/{number:04d}.log"
        path = self._journal.directory / name
        try:
            console = board.console
            if console is None:
                return ""
            data = read_end(console.log, _MOST_OF_A_LOG)
            path.parent.mkdir(exist_ok=True)
            write_whole(path, data)
        except (BoardError, OSError):
            # The run has failed by itself, and that is what counts.
            return ""
        return name

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
