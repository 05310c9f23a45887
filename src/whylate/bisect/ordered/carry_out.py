"""Carry out a bisection of an ordered history: run, ask the search, confirm what it finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from whylate.bisect.ordered.costs import costs_of
from whylate.bisect.ordered.journal import RUNS, OrderedJournal, P
from whylate.bisect.ordered.model import Kind as StepKind
from whylate.bisect.ordered.model import OrderedPlan, Step
from whylate.bisect.ordered.pool import without_boards
from whylate.bisect.ordered.reverted import Reverted, next_reverted
from whylate.bisect.ordered.versions import (
    LostBoardError,
    StoppedEarlyError,
    UnavailableError,
    Versions,
    Wanted,
)
from whylate.bisect.outcome import NoOutcomeError
from whylate.run.progress import Observer
from whylate.run.threads import wait_for_futures
from whylate.stats.ordered_search.ahead import likely_next
from whylate.stats.ordered_search.answer import Answer, Kind
from whylate.stats.ordered_search.confirmation import Confirmation, Pair, next_confirmation
from whylate.stats.ordered_search.events import (
    Event,
    Measured,
    SameBinary,
    Settings,
    Unbuildable,
)
from whylate.stats.ordered_search.outlook import Outlook
from whylate.stats.ordered_search.search import Run, next_step

#: Attempts at a run before its version counts as one that cannot be run.
_ATTEMPTS = 2


class OrderedObserver(Protocol):
    """Shows a bisection to the user."""

    def observer(self, board: str) -> Observer:
        """Return the observer of the runs of a board."""

    def searching(self, outlook: Outlook) -> None:
        """Show how far the search is."""

    def run_begins(self, number: int, place: int, kind: StepKind) -> None:
        """Show that a version is made and run."""

    def step_ends(self, step: Step) -> None:
        """Show what became of it."""


@dataclass(frozen=True)
class Result:
    """How a bisection ended. answer: None: it is not over.

    confirmation: of one version against that before it; None where nothing was to be confirmed,
    or it is not over. reverted: of the last version without it; None where it was not confirmed, is
    the last one itself, or cannot be reverted. lost: boards that were given up, with the reason.
    """

    answer: Answer | None = None
    confirmation: Confirmation | None = None
    reverted: Reverted | None = None
    lost: Mapping[str, str] = field(default_factory=dict)


class BrokenEndError(Exception):
    """An end of the history cannot be made or run; says why."""


def bisect_ordered(
    journal: OrderedJournal[P],
    versions: Versions,
    observer: OrderedObserver,
    stopped: Callable[[], bool],
) -> Result:
    """Make runs until the search has an answer and it is confirmed, or stopped() returns true.

    Raises BrokenEndError, RequestError, RecordingError, DiskError, and what versions raise.
    """
    return _Bisection(journal, versions, observer, stopped).carry_out()


class _Bisection:
    """A bisection in progress."""

    def __init__(
        self,
        journal: OrderedJournal[P],
        versions: Versions,
        observer: OrderedObserver,
        stopped: Callable[[], bool],
    ) -> None:
        self._journal = journal
        self._plan: OrderedPlan = journal.plan
        self._versions = versions
        self._observer = observer
        self._stopped = stopped
        self._number = max((step.number for step in journal.lines), default=0)
        self._lost: dict[str, str] = {}

    def carry_out(self) -> Result:
        """Ask the search, make the run that it wants, and ask again; then confirm."""
        return replace(self._answered(), lost=self._lost)

    def _answered(self) -> Result:
        answer = self._search()
        if answer is None:
            return Result()
        pair = self._pair(answer)
        if pair is None:
            return Result(answer)
        confirmation = self._confirm(pair)
        confirmed = confirmation is not None and confirmation.confirmed
        if not confirmed or not self._versions.can_revert or pair.culprit == self._last:
            return Result(answer, confirmation)
        return Result(answer, confirmation, self._revert(pair))

    def _search(self) -> Answer | None:
        history = self._versions.history
        while not self._stopped():
            for place, reason in self._versions.failed_ahead():
                self._number += 1
                self._cannot(self._number, place, reason)
            step = next_step(history, self._events(), self._settings(), self._versions.made())
            if not isinstance(step, Run):
                return step
            if step.outlook is not None:
                self._observer.searching(step.outlook)
            self._run(step.version, "run")
        return None

    def _revert(self, pair: Pair) -> Reverted | None:
        """Run the last version, and that with the culprit reverted on top, in turns."""
        while not self._stopped():
            step = next_reverted(self._versions, self._steps(), self._plan.seed)
            if isinstance(step, Reverted):
                return step
            if step:
                self._run(pair.culprit, "reverted")
            else:
                self._run(self._last, "kept")
        return None

    def _confirm(self, pair: Pair) -> Confirmation | None:
        while not self._stopped():
            places = {pair.parent, pair.culprit}
            runs = [
                Measured(self._versions.place(step.version), step.value)
                for step in self._steps()
                if step.kind == "confirmation" and step.value is not None
            ]
            step = next_confirmation(pair, [run for run in runs if run.version in places])
            if isinstance(step, Confirmation):
                return step
            if not self._run(step, "confirmation"):
                return None
        return None

    def _pair(self, answer: Answer) -> Pair | None:
        """Return what is to be confirmed: one version that was found, against that before it."""
        if answer.kind is not Kind.ONE_VERSION or not answer.step:
            return None
        (culprit,) = answer.versions
        parent = self._versions.before(culprit)
        failed = {
            self._versions.place(step.version)
            for step in self._journal.lines
            if step.kind == "unbuildable"
        }
        if culprit in failed or parent in failed:
            return None
        return Pair(parent, culprit, answer.step, seed=self._plan.seed)

    def _settings(self) -> Settings:
        """Return the settings of the search, with what runs and builds have taken so far."""
        return Settings(
            confidence=self._plan.confidence,
            max_runs=self._plan.runs,
            costs=costs_of(self._journal.lines, self._versions.made_s),
            seed=self._plan.seed,
        )

    @property
    def _last(self) -> int:
        return len(self._versions.names) - 1

    def _events(self) -> list[Event]:
        return events_of(self._versions, self._steps())

    def _steps(self) -> list[Step]:
        """Return the steps, with values that do not depend on the board."""
        names = self._versions.names
        return without_boards(self._journal.lines, (names[0], names[-1]))

    def _run(self, place: int, kind: StepKind) -> bool:
        """Make and run a version, and keep what became of it; return whether it ran."""
        self._number += 1
        number = self._number
        version = Wanted(place, kind == "reverted")
        self._observer.run_begins(number, place, kind)
        try:
            self._versions.make(version)
            if kind == "run" and self._is_same(number, place):
                return True
            began = time.monotonic()
            self._versions.bring(version)
            brought_s = round(time.monotonic() - began, 3)
        except StoppedEarlyError:
            return False
        except UnavailableError as error:
            self._cannot(number, place, str(error), kind)
            return False
        self._make_ahead(place, kind)
        boards = [board for board in self._versions.boards if board not in self._lost]
        numbers = range(number, number + len(boards))
        self._number = numbers[-1]
        if len(boards) == 1:
            # In this thread, which a signal ends at once.
            outcomes = [self._run_on(boards[0], version, number, kind)]
        else:
            with ThreadPoolExecutor(len(boards)) as pool:
                runs = [
                    pool.submit(self._run_on, board, version, n, kind)
                    for board, n in zip(boards, numbers, strict=True)
                ]
                wait_for_futures(runs)
            outcomes = [run.result() for run in runs]
        if self._stopped():
            return False  # the runs are made again when the bisection is resumed
        steps = [outcome for outcome in outcomes if isinstance(outcome, Step)]
        for step in steps:
            self._keep(msgspec.structs.replace(step, brought_s=brought_s))
        failed = [outcome for outcome in outcomes if isinstance(outcome, str)]
        if failed and not steps:
            self._cannot(number, place, failed[0], kind)
        return bool(steps)

    def _run_on(
        self, board: str, version: Wanted, number: int, kind: StepKind
    ) -> Step | str | None:
        """Run a version on a board; return the step, or why it cannot be run.

        None: it was stopped, or the board is lost; raises LostBoardError for the last one.
        """
        name = self._versions.names[version.place]
        started, began = datetime.now(UTC), time.monotonic()
        directory = self._journal.directory / RUNS / f"{number:04d}"
        several = len(self._versions.boards) > 1
        reason = ""
        for _ in range(_ATTEMPTS):
            try:
                value, unit = self._versions.attempt(
                    version, board, number, directory, self._observer.observer(board)
                )
            except NoOutcomeError as error:
                reason = str(error)
            except LostBoardError as error:
                self._lost[board] = str(error)
                if len(self._lost) == len(self._versions.boards):
                    raise
                return None
            else:
                return Step(
                    number=number, kind=kind, version=name, board=board if several else "",
                    value=value, unit=unit, recording=f"{RUNS}/{number:04d}",
                    started=started.isoformat(timespec="milliseconds"),
                    took_s=round(time.monotonic() - began, 3),
                )  # fmt: skip
            if self._stopped():
                return None
        return reason

    def _make_ahead(self, place: int, kind: StepKind) -> None:
        """Make what may be run next, while this is run."""
        events, settings, made = self._events(), self._settings(), self._versions.made()
        failed = {event.version for event in events if isinstance(event, Unbuildable)}

        def wanted() -> list[Wanted]:
            if kind != "run":
                return [Wanted(place, reverted=True)] if kind == "confirmation" else []
            history = self._versions.history
            places = likely_next(history, events, settings, place, made | failed)
            return [Wanted(likely) for likely in places]

        self._versions.make_ahead(wanted)

    def _is_same(self, number: int, place: int) -> bool:
        """Keep that a version is the same as another one, the first time that it is made."""
        name = self._versions.names[place]
        known = {step.version for step in self._journal.lines if step.kind in ("run", "same")}
        if name in known:
            return False
        other = self._versions.same_as(place, sorted(known, key=self._versions.place))
        if other:
            self._keep(_note(number, "same", name, other=other))
        return bool(other)

    def _cannot(self, number: int, place: int, reason: str, kind: StepKind = "run") -> None:
        """Keep that a version cannot be made or run; raises BrokenEndError for an end."""
        nouns, name = self._versions.nouns, self._versions.names[place]
        if kind == "reverted":
            self._keep(_note(number, "not reverted", name, reason=reason[:400]))
            return
        if place in (0, len(self._versions.names) - 1):
            end = nouns.first if place == 0 else nouns.last
            raise BrokenEndError(f"{end}, {self._versions.short(place)}: {reason}")
        self._keep(_note(number, "unbuildable", name, reason=reason[:400]))

    def _keep(self, step: Step) -> None:
        self._journal.append(step)
        self._observer.step_ends(step)


def _note(number: int, kind: str, version: str, **fields: str) -> Step:
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    return Step(number=number, kind=kind, version=version, started=started, took_s=0.0, **fields)  # type: ignore[arg-type]


def events_of(versions: Versions, steps: Sequence[Step]) -> list[Event]:
    """Return the steps of a journal as the search takes them."""
    events: list[Event] = []
    for step in steps:
        place = versions.place(step.version)
        if step.kind == "run" and step.value is not None:
            events.append(Measured(place, step.value))
        elif step.kind == "unbuildable":
            events.append(Unbuildable(place))
        elif step.kind == "same":
            events.append(SameBinary(place, versions.place(step.other)))
    return events
