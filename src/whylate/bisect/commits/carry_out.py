"""Carry out a bisection of commits: build, run, ask the search, and confirm what it finds."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from whylate.bisect.commits.board_files import preparation, put_names
from whylate.bisect.commits.build_process import StoppedEarlyError
from whylate.bisect.commits.builds import BuildError, Builds, Version
from whylate.bisect.commits.graph import Commits
from whylate.bisect.commits.journal import RUNS, CommitsJournal
from whylate.bisect.commits.model import Kind as StepKind
from whylate.bisect.commits.model import Step
from whylate.bisect.commits.reverted import Reverted, next_reverted, version_without
from whylate.bisect.outcome import NoOutcomeError, outcome_of
from whylate.boards.board import Board, BoardError
from whylate.recording.errors import DiskError, RecordingError
from whylate.recording.plan import RunPlan
from whylate.run.errors import RequestError
from whylate.run.knobs.apply import Applied
from whylate.run.loads import parse_load
from whylate.run.preparation.model import Preparation, PreparationError
from whylate.run.progress import Observer
from whylate.run.several import Job, carry_out
from whylate.stats.ordered_search.ahead import likely_next
from whylate.stats.ordered_search.answer import Answer, Kind
from whylate.stats.ordered_search.confirmation import Confirmation, Pair, next_confirmation
from whylate.stats.ordered_search.events import (
    Costs,
    Event,
    Measured,
    SameBinary,
    Settings,
    Unbuildable,
)
from whylate.stats.ordered_search.outlook import Outlook
from whylate.stats.ordered_search.search import Run, next_step
from whylate.study.attempt import why_not
from whylate.study.plan_file import read_plan_file, workload_in

#: Attempts at a run before its commit counts as one that cannot be run.
_ATTEMPTS = 2


class CommitsObserver(Protocol):
    """Shows a bisection to the user."""

    def observer(self, board: str) -> Observer:
        """Return the observer of the runs of a board."""

    def searching(self, outlook: Outlook) -> None:
        """Show how far the search is."""

    def run_begins(self, number: int, place: int, kind: StepKind) -> None:
        """Show that a commit is built and run."""

    def step_ends(self, step: Step) -> None:
        """Show what became of it."""


@dataclass(frozen=True)
class Result:
    """How a bisection ended. answer: None: it is not over.

    confirmation: of one commit against its parent; None where nothing was to be confirmed, or it
    is not over. reverted: of BAD without it; None where it was not confirmed, or is BAD itself.
    """

    answer: Answer | None = None
    confirmation: Confirmation | None = None
    reverted: Reverted | None = None


class BrokenEndError(Exception):
    """GOOD or BAD cannot be built or run; says why."""


def bisect_commits(
    journal: CommitsJournal,
    commits: Commits,
    plan_path: Path,
    open_board: Callable[[str], Board],
    observer: CommitsObserver,
    stopped: Callable[[], bool],
    jobs: int = 0,
) -> Result:
    """Make runs until the search has an answer and it is confirmed, or stopped() returns true.

    jobs: how many commits are built at a time while a board measures. Raises BrokenEndError,
    GitError, RequestError, RecordingError and DiskError.
    """
    plan = journal.plan
    builds = Builds(
        Path(plan.repository), journal.directory, plan.build, plan.install, jobs=jobs,
        stopped=stopped,
    )  # fmt: skip
    with closing(builds):
        bisection = _Bisection(journal, commits, plan_path, open_board, observer, stopped, builds)
        return bisection.carry_out()


class _Bisection:
    """A bisection in progress."""

    def __init__(
        self,
        journal: CommitsJournal,
        commits: Commits,
        plan_path: Path,
        open_board: Callable[[str], Board],
        observer: CommitsObserver,
        stopped: Callable[[], bool],
        builds: Builds,
    ) -> None:
        plan = journal.plan
        self._journal = journal
        self._plan = plan
        self._commits = commits
        self._plan_path = plan_path
        self._open = open_board
        self._observer = observer
        self._stopped = stopped
        self._builds = builds
        #: Files by which two builds are the same.
        self._compared = [plan.binary] if plan.binary else self._all_that_differs()
        self._number = max((step.number for step in journal.lines), default=0)

    def carry_out(self) -> Result:
        """Ask the search, make the run that it wants, and ask again; then confirm."""
        answer = self._search()
        if answer is None:
            return Result()
        pair = self._pair(answer)
        if pair is None:
            return Result(answer)
        confirmation = self._confirm(pair)
        last = len(self._commits.hashes) - 1
        if confirmation is None or not confirmation.confirmed or pair.culprit == last:
            return Result(answer, confirmation)
        return Result(answer, confirmation, self._revert(pair))

    def _search(self) -> Answer | None:
        history = self._commits.history
        while not self._stopped():
            for version, reason in self._builds.failed_ahead():
                if not version.without:
                    self._number += 1
                    self._cannot(self._number, self._commits.place(version.commit), reason)
            step = next_step(history, self._events(), self._settings(), self._built())
            if not isinstance(step, Run):
                return step
            if step.outlook is not None:
                self._observer.searching(step.outlook)
            self._run(step.version, "run")
        return None

    def _revert(self, pair: Pair) -> Reverted | None:
        """Run BAD, and BAD with the culprit reverted on top of it, in turns."""
        last = len(self._commits.hashes) - 1
        while not self._stopped():
            step = next_reverted(self._commits, self._journal.lines, self._plan.seed)
            if isinstance(step, Reverted):
                return step
            if step:
                self._run(pair.culprit, "reverted")
            else:
                self._run(last, "kept")
        return None

    def _confirm(self, pair: Pair) -> Confirmation | None:
        while not self._stopped():
            places = {pair.parent, pair.culprit}
            runs = [
                Measured(self._commits.place(step.commit), step.value)
                for step in self._journal.lines
                if step.kind == "confirmation" and step.value is not None
            ]
            step = next_confirmation(pair, [run for run in runs if run.version in places])
            if isinstance(step, Confirmation):
                return step
            if not self._run(step, "confirmation"):
                return None
        return None

    def _pair(self, answer: Answer) -> Pair | None:
        """Return what is to be confirmed: one commit that was found, against its first parent."""
        if answer.kind is not Kind.ONE_VERSION or not answer.step:
            return None
        (culprit,) = answer.versions
        parent = self._commits.parents[culprit][0]
        failed = {
            self._commits.place(step.commit)
            for step in self._journal.lines
            if step.kind == "unbuildable"
        }
        if culprit in failed or parent in failed:
            return None
        return Pair(parent, culprit, answer.step, seed=self._plan.seed)

    def _events(self) -> list[Event]:
        return events_of(self._commits, self._journal.lines)

    def _built(self) -> set[int]:
        return {self._commits.place(commit) for commit in self._builds.built_commits()}

    def _settings(self) -> Settings:
        """Return the settings of the search, with what runs and builds have taken so far."""
        runs = [step.took_s for step in self._journal.lines if step.kind == "run"]
        builds = self._builds.took_s
        costs = (
            Costs(
                run_s=max(statistics.median(runs), 0.001),
                boot_s=0.0,
                build_s=statistics.median(builds) if builds else 0.0,
            )
            if runs
            else Costs()
        )
        return Settings(
            confidence=self._plan.confidence,
            max_runs=self._plan.runs,
            costs=costs,
            seed=self._plan.seed,
        )

    def _run(self, place: int, kind: StepKind) -> bool:
        """Build and run a commit, and keep what became of it; return whether it ran."""
        self._number += 1
        number, commit = self._number, self._commits.hashes[place]
        version = Version(commit) if kind != "reverted" else version_without(self._commits, place)
        self._observer.run_begins(number, place, kind)
        try:
            self._builds.built(version)
            if kind == "run" and self._is_same(number, place):
                return True
            self._builds.installed(version)
            ready = preparation(self._plan, self._builds.path(version))
        except StoppedEarlyError:
            return False
        except BuildError as error:
            self._cannot(number, place, str(error), kind)
            return False
        self._build_ahead(place, kind)
        started, began = datetime.now(UTC), time.monotonic()
        directory = self._journal.directory / RUNS / f"{number:04d}"
        reason = ""
        for _ in range(_ATTEMPTS):
            reason = ""
            try:
                value, unit = self._attempt(version, number, directory, ready)
            except NoOutcomeError as error:
                reason = str(error)
            if self._stopped():
                return False  # the run is made again when the bisection is resumed
            if reason:
                continue
            self._keep(
                Step(number=number, kind=kind, commit=commit,
                     value=value, unit=unit, recording=f"{RUNS}/{number:04d}",
                     started=started.isoformat(timespec="milliseconds"),
                     took_s=round(time.monotonic() - began, 3))
            )  # fmt: skip
            return True
        self._cannot(number, place, reason, kind)
        return False

    def _build_ahead(self, place: int, kind: StepKind) -> None:
        """Build what may be run next, while this is run."""
        events, settings, built = self._events(), self._settings(), self._built()
        failed = {event.version for event in events if isinstance(event, Unbuildable)}

        def wanted() -> list[Version]:
            if kind != "run":
                return [version_without(self._commits, place)] if kind == "confirmation" else []
            history = self._commits.history
            places = likely_next(history, events, settings, place, built | failed)
            return [Version(self._commits.hashes[likely]) for likely in places]

        self._builds.build_ahead(wanted)

    def _attempt(
        self, version: Version, number: int, directory: Path, ready: Preparation
    ) -> tuple[float, str]:
        """Make a run once; raises NoOutcomeError where it does not count."""
        shutil.rmtree(directory, ignore_errors=True)
        board, plan = run_plan(self._plan_path, self._builds.path(version), number)
        job = Job(
            board, lambda: self._open(board), plan, directory, self._observer.observer(board),
            preparation=ready,
        )  # fmt: skip
        outcome = carry_out(job, self._stopped)
        if isinstance(outcome.error, DiskError | RequestError):
            raise outcome.error
        if isinstance(outcome.error, BoardError) and not isinstance(
            outcome.error, PreparationError
        ):
            # Of the board, not of the commit.
            raise RequestError(f"{outcome.error}; the same command goes on where it was")
        applied = Applied(plan)
        try:
            if reason := why_not(outcome, applied, [applied]):
                raise NoOutcomeError(reason)
            return outcome_of(directory, self._plan.statistic)
        except RecordingError as error:
            raise NoOutcomeError(str(error)) from None

    def _all_that_differs(self) -> list[str]:
        """Return the files that a board gets of a build, if a run depends on nothing else of it."""
        first, second = (run_plan(self._plan_path, Path(name))[1] for name in ("/a", "/b"))
        return put_names(self._plan) if first == second and not self._plan.install else []

    def _is_same(self, number: int, place: int) -> bool:
        """Keep that a commit has the binary of another one, the first time that it is built."""
        if not self._compared:
            return False
        commit = self._commits.hashes[place]
        known = {step.commit for step in self._journal.lines if step.kind in ("run", "same")}
        if commit in known:
            return False
        ours = self._builds.sum_of(Version(commit), self._compared)
        for other in sorted(known, key=self._commits.place):
            if self._builds.sum_of(Version(other), self._compared) == ours:
                self._keep(_note(number, "same", commit, other=other))
                return True
        return False

    def _cannot(self, number: int, place: int, reason: str, kind: StepKind = "run") -> None:
        """Keep that a commit cannot be built or run; raises BrokenEndError for GOOD or BAD."""
        if kind == "reverted":
            commit = self._commits.hashes[place]
            self._keep(_note(number, "not reverted", commit, reason=reason[:400]))
            return
        if place in (0, len(self._commits.hashes) - 1):
            end = "GOOD" if place == 0 else "BAD"
            raise BrokenEndError(f"{end}, {self._commits.hashes[place][:12]}: {reason}")
        self._keep(_note(number, "unbuildable", self._commits.hashes[place], reason=reason[:400]))

    def _keep(self, step: Step) -> None:
        self._journal.append(step)
        self._observer.step_ends(step)


def _note(number: int, kind: str, commit: str, **fields: str) -> Step:
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Step(number=number, kind=kind, commit=commit, started=started, took_s=0.0, **fields)  # type: ignore[arg-type]


def events_of(commits: Commits, steps: Sequence[Step]) -> list[Event]:
    """Return the steps of a journal as the search takes them."""
    events: list[Event] = []
    for step in steps:
        place = commits.place(step.commit)
        if step.kind == "run" and step.value is not None:
            events.append(Measured(place, step.value))
        elif step.kind == "unbuildable":
            events.append(Unbuildable(place))
        elif step.kind == "same":
            events.append(SameBinary(place, commits.place(step.other)))
    return events


def run_plan(path: Path, build: Path, number: int = 0) -> tuple[str, RunPlan]:
    """Return the board of a plan, and a run of it with {build} filled in; raises RequestError.

    number: of the run, by which its seed is beyond that of the plan.
    """
    file = read_plan_file(path, {"build": str(build)})
    if file.variants or file.factors:
        raise RequestError(f"{path} has variants: a bisection of commits compares commits alone")
    if len(file.boards) != 1:
        raise RequestError(f"{path} names {len(file.boards)} boards: commits are run on one")
    if len(file.loads) > 1:
        raise RequestError(f"{path} has {len(file.loads)} sets of loads: commits are run with one")
    loads = [parse_load(text) for texts in file.loads.values() for text in texts]
    plan = RunPlan(
        workload=workload_in(file),
        cpus=file.cpus,
        loads=loads,
        virtual_time=file.virtual_time,
        seed=file.seed + number,
    )
    return file.boards[0], plan
