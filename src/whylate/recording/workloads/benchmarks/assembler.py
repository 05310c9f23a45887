"""Building the rows of a benchmark from the probe's messages: what all benchmarks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import msgspec
import numpy as np

from whylate.recording.repetitions import PLACE, Repetitions
from whylate.recording.stretches import Stretches
from whylate.recording.turns import TurnReport
from whylate.recording.workloads.benchmarks import (
    BenchmarkPoint,
    BenchmarkWorkload,
    with_counter_name,
)
from whylate.text import shown
from whylate.wire.codec import WireError
from whylate.wire.messages import BenchFailed, Message, RepetitionCounts

#: No measured figure is larger; beyond it a figure has no int64.
_MAX_FIGURE = 1 << 62


def check_figures(*values: int) -> None:
    """Raise WireError for a figure out of range."""
    if any(not 0 <= value < _MAX_FIGURE for value in values):
        raise WireError("a figure of a repetition is out of range")


class RepetitionAssembler:
    """Collects the repetitions and reports of the turns of a benchmark."""

    #: The message that has a row.
    row: ClassVar[type[Message]]
    #: The other messages of this benchmark.
    details: ClassVar[tuple[type[Message], ...]] = ()

    def __init__(self, workload: BenchmarkWorkload) -> None:
        self.workload = workload
        self._rows: dict[tuple[int, int, int], tuple[int, ...]] = {}
        self._counts: dict[tuple[int, int], tuple[int, ...]] = {}
        self._reports: dict[int, TurnReport] = {}

    @property
    def started(self) -> bool:
        """Whether any turn has begun."""
        return bool(self._rows or self._reports)

    def add(self, message: Any) -> None:
        """Add a message of a benchmark; raises WireError for what does not fit the plan."""
        if message.turn >= len(self.workload.order):
            raise WireError("a turn that was not planned")
        if isinstance(message, self.row):
            self._add_row(message)
        elif isinstance(message, RepetitionCounts):
            self._add_counts(message)
        elif isinstance(message, BenchFailed):
            text = with_counter_name(message.text, self.workload.counters)
            self.report(message.turn, error=shown(text, 300) or "it failed")
        elif isinstance(message, self.details):
            self.add_detail(message)
        else:
            raise WireError("a message of another benchmark")

    def add_detail(self, message: Any) -> None:
        """Add a message of this benchmark alone; raises WireError."""
        raise NotImplementedError

    def place(self, message: Any) -> tuple[int, int]:
        """Return the repetition that a row is of, and its place there."""
        return message.repetition, 0

    def report(self, turn: int, **changes: object) -> None:
        """Add to the report of a turn."""
        self._reports[turn] = msgspec.structs.replace(self.reported(turn), **changes)

    def reported(self, turn: int) -> TurnReport:
        """Return what the report of a turn has by now."""
        return self._reports.get(turn, TurnReport(turn))

    def point(self, turn: int) -> BenchmarkPoint:
        """Return the point of a turn."""
        return self.workload.points[self.workload.order[turn]]

    def _add_row(self, message: Any) -> None:
        repetition, row = self.place(message)
        place = (message.turn, repetition, row)
        if (
            place in self._rows
            or repetition >= self.workload.repetitions
            or row >= self.point(message.turn).rows
        ):
            raise WireError("a repetition that was not planned, or came before")
        values = tuple(int(getattr(message, name)) for name in self.workload.columns)
        check_figures(*values)
        self._rows[place] = values

    def _add_counts(self, message: RepetitionCounts) -> None:
        if len(message.values) != len(self.workload.counters):
            raise WireError("counts of other counters")
        check_figures(*message.values)
        self._counts[message.turn, message.repetition] = tuple(message.values)

    def values(self) -> Mapping[int, float] | None:
        """Return the number found in each turn; None where the benchmark has none."""
        return None

    def stretches(self) -> Stretches | None:
        """Return the stretches that were sampled; None where the benchmark has none."""
        return None

    def switch_traces(self) -> Mapping[int, bytes] | None:
        """Return the trace of each turn's switches; None where the benchmark has none."""
        return None

    def repetitions(self) -> Repetitions:
        """Return the repetitions of all turns, in the order of the plan."""
        places = sorted(self._rows)
        names = self.workload.columns
        table = np.array([self._rows[place] for place in places], np.int64)
        table = table.reshape(len(places), len(names))
        turn, repetition = (np.array([place[i] for place in places], np.int64) for i in (0, 1))
        point = np.array([self.workload.order[place[0]] for place in places], np.int64)
        columns = dict(zip(PLACE, (turn, point, repetition), strict=True))
        columns |= {name: table[:, i] for i, name in enumerate(names)}
        counters = self.workload.repetition_counters
        none = (0,) * len(counters)
        counted = [self._counts.get(place[:2], none) for place in places]
        counts = {
            counter.name: np.array([row[i] for row in counted], np.int64)
            for i, counter in enumerate(counters)
        }
        value, values = None, self.values()
        if values is not None:
            value = np.array([values.get(place[0], np.nan) for place in places], np.float64)
        return Repetitions(columns, value, counts)

    def reports(self) -> list[TurnReport]:
        """Return the report of each turn of which anything is known."""
        known = {place[0] for place in self._rows} | set(self._reports)
        return [self.reported(turn) for turn in sorted(known)]

    def faults(self, *, complete: bool) -> list[str]:
        """Return why the sample accounting does not close; complete: the run reached its end."""
        workload = self.workload
        # A point that failed is not tried again.
        failed = {workload.order[report.turn] for report in self._reports.values() if report.error}
        seen: dict[int, int] = {}
        for turn, _, _ in self._rows:
            seen[turn] = seen.get(turn, 0) + 1
        short = sum(
            seen.get(turn, 0) < workload.repetitions * workload.points[index].rows
            for turn, index in enumerate(workload.order)
            if index not in failed
        )
        texts = []
        if short and complete:
            texts.append(f"{short} of {len(workload.order)} turns lack repetitions")
        uncounted = {place[:2] for place in self._rows} - set(self._counts)
        if uncounted and workload.repetition_counters:
            texts.append(f"{len(uncounted)} repetitions have no counts")
        return texts
