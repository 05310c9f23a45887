"""Carry out a bisection of an ordered history: run, ask the search, confirm what it finds."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol

from whylate.bisect.ordered.journal import RUNS, OrderedJournal, P
from whylate.bisect.ordered.model import OrderedPlan, Step
from whylate.bisect.ordered.versions import UnavailableError, Versions
from whylate.bisect.outcome import NoOutcomeError
from whylate.run.progress import Observer
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
from whylate.stats.ordered_search.search import Run, next_step

#: Attempts at a run before its version counts as one that cannot be run.
_ATTEMPTS = 2


class OrderedObserver(Protocol):
    """Shows a bisection to the user."""

    def observer(self, board: str) -> Observer:
        """Return the observer of the runs of a board."""

    def run_begins(self, number: int, place: int, *, fresh: bool) -> None:
        """Show that a version is made and run; fresh: to confirm."""

    def step_ends(self, step: Step) -> None:
        """Show what became of it."""


@dataclass(frozen=True)
class Result:
    """How a bisection ended. answer: None: it is not over.

    confirmation: of one version against that before it; None where nothing was to be confirmed,
    or it is not over.
    """

    answer: Answer | None = None
    confirmation: Confirmation | None = None


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

    def carry_out(self) -> Result:
        """Ask the search, make the run that it wants, and ask again; then confirm."""
        answer = self._search()
        if answer is None:
            return Result()
        pair = self._pair(answer)
        if pair is None:
            return Result(answer)
        return Result(answer, self._confirm(pair))

    def _search(self) -> Answer | None:
        history = self._versions.history
        while not self._stopped():
            events = events_of(self._versions, self._journal.lines)
            step = next_step(history, events, self._settings())
            if not isinstance(step, Run):
                return step
            self._run(step.version, fresh=False)
        return None

    def _confirm(self, pair: Pair) -> Confirmation | None:
        while not self._stopped():
            places = {pair.parent, pair.culprit}
            runs = [
                Measured(self._versions.place(step.version), step.value)
                for step in self._journal.lines
                if step.kind == "confirmation" and step.value is not None
            ]
            step = next_confirmation(pair, [run for run in runs if run.version in places])
            if isinstance(step, Confirmation):
                return step
            if not self._run(step, fresh=True):
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
        runs = [step.took_s for step in self._journal.lines if step.kind == "run"]
        builds = self._versions.made_s
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

    def _run(self, place: int, *, fresh: bool) -> bool:
        """Make and run a version, and keep what became of it; return whether it ran."""
        self._number += 1
        number, name = self._number, self._versions.names[place]
        self._observer.run_begins(number, place, fresh=fresh)
        try:
            self._versions.make(place)
            if self._is_same(number, place, fresh=fresh):
                return True
            self._versions.bring(place)
        except UnavailableError as error:
            self._cannot(number, place, str(error))
            return False
        started, began = datetime.now(UTC), time.monotonic()
        directory = self._journal.directory / RUNS / f"{number:04d}"
        reason = ""
        for _ in range(_ATTEMPTS):
            reason = ""
            try:
                value, unit = self._versions.attempt(
                    place, number, directory, self._observer.observer(name)
                )
            except NoOutcomeError as error:
                reason = str(error)
            if self._stopped():
                return False  # the run is made again when the bisection is resumed
            if reason:
                continue
            self._keep(
                Step(number=number, kind="confirmation" if fresh else "run", version=name,
                     value=value, unit=unit, recording=f"{RUNS}/{number:04d}",
                     started=started.isoformat(timespec="milliseconds"),
                     took_s=round(time.monotonic() - began, 3))
            )  # fmt: skip
            return True
        self._cannot(number, place, reason)
        return False

    def _is_same(self, number: int, place: int, *, fresh: bool) -> bool:
        """Keep that a version is the same as another one, the first time that it is made."""
        name = self._versions.names[place]
        known = {step.version for step in self._journal.lines if step.kind in ("run", "same")}
        if fresh or name in known:
            return False
        other = self._versions.same_as(place, sorted(known, key=self._versions.place))
        if other:
            self._keep(_note(number, "same", name, other=other))
        return bool(other)

    def _cannot(self, number: int, place: int, reason: str) -> None:
        """Keep that a version cannot be made or run; raises BrokenEndError for an end."""
        nouns, name = self._versions.nouns, self._versions.names[place]
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
